/** The exports of `@assay/client`. */
export { Client, type ProofForm } from './client.ts'
export type { Answer, Call, CallOptions, ClientOptions, Payer, RateLimit } from './client-types.ts'
export * from './errors.ts'
export { explain } from './explain.ts'
export type { FeedEvent, FeedQuery, ListenOptions, WebhookEvent } from './listen.ts'
export { KeyDocumentError, type Reason, type Verdict, verifyCredential } from './verify.ts'
export {
  newWebhookSecret,
  signTestWebhook,
  type TestWebhook,
  verifyWebhook,
  type WebhookOptions,
} from './webhook-signature.ts'
export type * from './wire.ts'
