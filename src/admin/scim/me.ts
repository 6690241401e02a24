// `/Me` (RFC 7644 §3.11): users read their own account, and change what they may.
import { isDeepStrictEqual } from 'node:util'
import type { FastifyRequest } from 'fastify'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import { inRealm } from '../../web/callers/authorization-header.ts'
import type { Json } from './schemas/attribute.ts'
import { ScimError } from './error.ts'
import { OWN_USER } from './schemas/schemas.ts'

/** What users of internal accounts may change themselves. */
const OWN_ATTRIBUTES: ReadonlySet<string> = new Set([
  'name',
  'displayName',
  'nickName',
  'preferredLanguage',
  'locale',
  'timezone',
])

/** The user of the token; throws 403 for a client that acts for itself. */
export function ownId({ bearer }: FastifyRequest, service: Service): string {
  if (!bearer?.user) throw inRealm(new OAuthError('access_denied', 'The token is not that of a user'), service)
  return bearer.user.id
}

/**
 * Refuses a change of anything but names and language, and every change of an account of another provider. Takes the
 * client-writable parts of the resource before and after.
 */
export const checkOwnChange =
  ({ name: internalOrigin }: Service) =>
  (before: Json, after: Json): void => {
    const { origin } = Object(before[OWN_USER])
    if (origin !== internalOrigin) throw new ScimError(403, 'The account is managed by another identity provider')
    const names = new Set([...Object.keys(before), ...Object.keys(after)])
    const refused = [...names].find(name => !OWN_ATTRIBUTES.has(name) && !isDeepStrictEqual(before[name], after[name]))
    if (refused !== undefined) throw new ScimError(403, `Users cannot change their own ${refused}`)
  }
