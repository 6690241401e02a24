// Where password managers find the page for another password (W3C, A Well-Known URL for Changing Passwords).
import type { FastifyInstance } from 'fastify'
import { switchesIn } from '../../accounts/switches.ts'
import { PageError } from '../../web/answers.ts'
import { goTo } from '../../web/redirect.ts'
import type { LoginParts } from '../parts.ts'

const config = {
  access: { by: 'anyone', because: 'it redirects to a page that requires a session' },
  audience: 'page',
} as const

/** `GET /.well-known/change-password`, below the base URL and, if that has a path, also at the origin. */
export function changePasswordUrl(
  app: FastifyInstance,
  { store, service, urls }: Pick<LoginParts, 'store' | 'service' | 'urls'>,
): void {
  app.get('/.well-known/change-password', { config }, async ({ zone }, reply) => {
    const { ownAccounts } = await switchesIn(zone, { store, serviceName: service.name })
    if (ownAccounts) return goTo(reply, '/change_password', urls)
    throw new PageError(404, 'Passwords are managed elsewhere.')
  })
}
