import type { FastifyInstance } from 'fastify'
import { describeCredential } from '../model/zones/rate-limit.ts'
import type { RateLimitSettings } from '../model/zones/rate-limit.ts'
import { STATUS_PATH } from '../web/limits/rate-limit.ts'
import { requireServerAdministrator } from '../web/callers/server-administrator.ts'
import type { ServerAdministratorDeps } from '../web/callers/server-administrator.ts'

/**
 * `GET /RateLimitingStatus`, for administrators of the server. An invalid section prevents the start, so UAA's third
 * status, PENDING, never occurs.
 */
export function rateLimitingStatusEndpoint(
  app: FastifyInstance,
  deps: {
    settings: RateLimitSettings | undefined
    /** The configuration file, if any. */
    file: string | undefined
    /** When the settings were read. */
    asOf: Date
  } & ServerAdministratorDeps,
): void {
  const { settings, file } = deps
  const current = {
    status: settings ? 'ACTIVE' : 'DISABLED',
    asOf: deps.asOf.toISOString().replace(/\.\d+Z$/, 'Z'),
    ...(settings?.credential && { credentialIdExtractor: describeCredential(settings.credential) }),
    ...(settings && { loggingLevel: settings.logging, limiterMappings: settings.mappings.length }),
  }
  const body = JSON.stringify({ current, ...(file !== undefined && { fromSource: `file(${file})` }) }, undefined, 2)
    // UAA: a space before the colon, too. Line breaks in values are escaped, so every line begins with a name.
    .replace(/^( *"\w+"):/gm, '$1 :')

  app.get(STATUS_PATH, { config: { access: { by: 'client' }, audience: 'api' } }, async (request, reply) => {
    await requireServerAdministrator(request, STATUS_PATH, deps)
    return reply.type('application/json').send(body)
  })
}
