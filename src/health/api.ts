/** What other modules may read and change of heartbeats. The stores are private. */
export { archiveFails, proveDiskRoom } from './heartbeat-store.ts'
