/** Composes sign-in with the OpenID Connect provider: client, sign-up and log. */
import { openOidcProvider } from '../accounts/oidc-provider.ts'
import type { Config } from '../config/config.ts'
import { openEgress } from '../platform/egress/client.ts'
import { operatorRules } from '../platform/egress/rules.ts'
import type { Log } from '../platform/observability/log.ts'
import type { SignInProvider } from '../web/sign-in-context.ts'
import { callbackPath } from '../web/sign-in-provider.ts'
import { signUpUser } from './mails.ts'

export interface SignInProviderClient extends SignInProvider {
  /** The provider must know this URL. It sends browsers back to it. */
  callbackUrl: string
  /** Ends the requests under way. */
  close(): Promise<void>
}

/** Opens no connection. Returns null without a provider. */
export function openSignInProvider(
  { oidc, publicUrl, signUp }: Pick<Config, 'oidc' | 'publicUrl' | 'signUp'>,
  log: Pick<Log, 'warn'>,
): SignInProviderClient | null {
  if (oidc === null) return null
  const { name, ...client } = oidc
  const egress = openEgress({ rules: operatorRules })
  const callbackUrl = `${publicUrl}${callbackPath}`
  return {
    ...openOidcProvider({ ...client, egress, callbackUrl }),
    callbackUrl,
    name,
    signUp: async (tx, email, now) =>
      signUp.isOpen ? signUpUser(tx, { email, credits: signUp.credits }, now) : null,
    onFailure: (why) => log.warn('the sign-in provider failed', { why }),
    close: () => egress.close(),
  }
}
