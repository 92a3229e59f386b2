/** What other modules may read of the audit log. The stores are private. */
export { findAccountEntries, findEntries, findKeysMadeBy } from './store.ts'
