/** What other modules may read and change of the audit log. The stores are private. */
export { findAccountEntries, findEntries, findKeysMadeBy } from './store.ts'
