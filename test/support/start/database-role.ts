/** A database role that may log in and has no other right until a test grants one. */
import { randomBytes } from 'node:crypto'
import { onServer } from './database.ts'

export interface DatabaseRole {
  name: string
  /** URL of the same database with this role. */
  url: string
  /** Drops the role and its grants. The database must still exist. */
  drop(): Promise<void>
}

export async function databaseRole(databaseUrl: string): Promise<DatabaseRole> {
  const name = `assay_api_${randomBytes(6).toString('hex')}`
  await onServer(databaseUrl, `create role ${name} login`)
  const url = new URL(databaseUrl)
  url.username = name
  const drop = () => onServer(databaseUrl, `drop owned by ${name}; drop role ${name}`)
  return { name, url: url.href, drop }
}
