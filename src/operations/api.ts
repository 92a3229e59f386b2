/** What other modules may read and change of operations. The stores are private. */
export { deleteOldReplays, eraseReplays, findOutput } from './replay-store.ts'
