/** What other modules may read and change of credits and payments. The stores are private. */
export { type Archive, findArchives } from './credits/archive-store.ts'
export { deletePurchases, findCreditAccount } from './credits/store.ts'
export {
  findAccountsToRollUp,
  findLedger,
  findLowCredits,
  findUsage,
  type LedgerEntry,
  rollUpUsage,
  type UsageOf,
} from './credits/usage-store.ts'
