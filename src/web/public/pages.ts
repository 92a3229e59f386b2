/** Every public page. */
import type { Endpoint } from '../../platform/http/endpoint.ts'
import { siteOf } from '../public-page.ts'
import { homePage } from './home.ts'

export interface PublicPagesOptions {
  publicUrl: string
}

export function publicPages({ publicUrl }: PublicPagesOptions): Endpoint[] {
  const site = siteOf(publicUrl)
  return [homePage(site)]
}
