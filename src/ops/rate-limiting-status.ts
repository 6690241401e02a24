import type { FastifyInstance, FastifyRequest } from 'fastify'
import { describeCredential } from '../model/rate-limit.ts'
import type { RateLimitSettings } from '../model/rate-limit.ts'
import { STATUS_PATH } from '../web/rate-limit.ts'

/**
 * `GET /RateLimitingStatus`: what an administrator may know of the limiter. A section that cannot be used stops the start,
 * so that the reference system's third status, PENDING, never comes about.
 */
export function rateLimitingStatusEndpoint(
  app: FastifyInstance,
  deps: {
    settings: RateLimitSettings | undefined
    /** The configuration file, where there is one. */
    file: string | undefined
    /** When the settings were read. */
    asOf: Date
    /** Refuses whoever is no administrator. */
    requireAdministrator: (request: FastifyRequest, path: string) => Promise<void>
  },
): void {
  const { settings, file } = deps
  const current = {
    status: settings ? 'ACTIVE' : 'DISABLED',
    asOf: deps.asOf.toISOString().replace(/\.\d+Z$/, 'Z'),
    ...(settings?.credential && { credentialIdExtractor: describeCredential(settings.credential) }),
    ...(settings && { loggingLevel: settings.logging, limiterMappings: settings.mappings.length }),
  }
  const body = JSON.stringify({ current, ...(file !== undefined && { fromSource: `file(${file})` }) }, undefined, 2)
    // UAA: a space before the colon, too. A line begins with a name: a line break inside a value is escaped.
    .replace(/^( *"\w+"):/gm, '$1 :')

  app.get(STATUS_PATH, { config: { access: { by: 'client' }, audience: 'api' } }, async (request, reply) => {
    await deps.requireAdministrator(request, STATUS_PATH)
    return reply.type('application/json').send(body)
  })
}
