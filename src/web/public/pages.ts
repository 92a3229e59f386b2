/** Every public page, except the documentation. */
import type { Endpoint } from '../../edge/http/endpoint.ts'
import { siteOf } from '../public-page.ts'
import { homePage } from './home.ts'
import { type ProfileOptions, profilePages } from './profile.ts'
import { type StandardPagesOptions, standardPages } from './standard.ts'
import { type VerifyPageOptions, verifyPages } from './verify.ts'

export interface PublicPagesOptions
  extends VerifyPageOptions,
    ProfileOptions,
    StandardPagesOptions {
  publicUrl: string
}

export function publicPages({ publicUrl, ...options }: PublicPagesOptions): Endpoint[] {
  const site = siteOf(publicUrl, options.operatorName)
  return [
    homePage(site, options),
    ...verifyPages(site, options),
    ...profilePages(site, options),
    ...standardPages(site, options),
  ]
}
