/** A database role that may log in, and nothing else until it is granted something. */
import { randomBytes } from 'node:crypto'
import { onServer } from './database.ts'

export interface DatabaseRole {
  name: string
  /** The same database, as this role. */
  url: string
  /** With what it was granted, while the database is there. */
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
