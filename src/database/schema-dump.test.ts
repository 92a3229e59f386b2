import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { emptyDatabase, testDatabase } from '../../test/support/start/database.ts'
import { dumpSchema } from './schema-dump.ts'

/** Includes features that our own migrations do not use yet. */
const everyKind = `
  create type colour as enum ('red', 'it''s green');
  create sequence tickets as integer increment 2 start 5 cycle;
  create table zebra (id bigint generated always as identity primary key, next integer default nextval('tickets'));
  create unlogged table "Aa" (
    id uuid primary key,
    zebra bigint not null references zebra on delete cascade,
    shade colour not null default 'red',
    price numeric(10, 2) check (price > 0),
    half numeric generated always as (price / 2) stored,
    dropped text,
    note varchar(20) collate "C" unique,
    constraint nested check (price between 1 and 100 and note <> '')
  ) with (fillfactor = 70);
  alter table "Aa" drop column dropped;
 create table months (name text not null check (name <> ''), day date unique, n bigint generated always as identity)
    partition by range (day);
  create table months_default partition of months default;
  create table months_first partition of months for values from ('2026-01-01') to ('2026-02-01');
  create index on months (name);
  create index "Aa_low" on "Aa" (lower(note) text_pattern_ops) include (shade) where price > 10;
  create function touch() returns trigger language plpgsql as $$ begin return new; end $$;
  create trigger touched before update on zebra for each row execute function touch();
  create view dear as select id from "Aa" where price > 100;
  create view "All" as select * from dear;
  grant select, insert on zebra to public;
  grant usage on sequence tickets to public`

async function runOn(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

async function emptyWith(text: string) {
  const database = await emptyDatabase()
  after(() => database.drop())
  await runOn(database.url, text)
  return database
}

test('a dump that is run on an empty database reproduces itself', async () => {
  const written = await dumpSchema((await emptyWith(everyKind)).db)
  const again = await dumpSchema((await emptyWith(written)).db)
  assert.equal(again, written)
  for (const part of [
    'colour',
    'tickets',
    'zebra',
    'unlogged table "Aa"',
    'identity',
    'stored',
    'collate',
    'partition by RANGE (day)',
    'partition of months DEFAULT',
    'ON public.months USING',
  ])
    assert.ok(written.includes(part), `${part} in ${written}`)
  for (const part of ['Aa_low', 'touch()', 'touched', 'dear', 'grant insert, select on zebra'])
    assert.ok(written.includes(part), `${part} in ${written}`)
  assert.ok(!written.includes('dropped'))
})

test('every kind of schema change changes the dump', async () => {
  const changes = [
    `alter type colour add value 'blue'`,
    'alter sequence tickets increment 3',
    'alter table zebra alter next set not null',
    'alter table zebra alter next drop default',
    'alter table zebra alter next type bigint',
    'alter table "Aa" set logged',
    'alter table "Aa" reset (fillfactor)',
    'alter table "Aa" drop constraint "Aa_price_check"',
    'alter table "Aa" drop constraint "Aa_zebra_fkey"',
    'drop index "Aa_low"',
    `create or replace function touch() returns trigger language plpgsql as 'begin return null; end'`,
    'drop trigger touched on zebra',
    'drop view "All"',
    'alter table months detach partition months_first',
    'drop table months_first',
    'revoke insert on zebra from public',
    'alter table "Aa" alter note type varchar(20) collate "POSIX"',
    'create table one_more ()',
  ]
  const { url, db } = await emptyWith(everyKind)
  let before = await dumpSchema(db)
  for (const change of changes) {
    await runOn(url, change)
    const now = await dumpSchema(db)
    assert.notEqual(now, before, change)
    before = now
  }
})

test('the dump of our own migrations reproduces itself', async () => {
  const ours = await testDatabase()
  after(() => ours.drop())
  const written = await dumpSchema(ours.db)
  assert.ok(written.includes('create table schema_migrations'))
  assert.equal(await dumpSchema((await emptyWith(written)).db), written)
})
