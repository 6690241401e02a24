import { existsSync } from 'node:fs'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isWithin } from '../base/clock.ts'
import type { Clock } from '../base/clock.ts'
import { isServedInLimitedMode } from '../model/zones/limited-mode.ts'
import type { LimitedMode } from '../model/zones/limited-mode.ts'
import type { Urls } from '../model/urls.ts'
import { PageError, refusalHeaders } from './answers.ts'
import { pathBelow } from './limits/rate-limit.ts'

const CHECK_EVERY_SECONDS = 5

/** Whether the status file exists; false without a configured mode. Reads the file system on each call. */
export const isLimited = (mode: LimitedMode | undefined): boolean => mode !== undefined && existsSync(mode.statusFile)

/** Hook: while the status file exists, answers 503 to everything but the permitted methods and endpoints. */
export function createLimitedModeHook({ clock, urls, mode }: { clock: Clock; urls: Urls; mode: LimitedMode }) {
  let lookedAt: Date | undefined
  let limited = false

  // Not async: every request passes here.
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    const now = clock.now()
    if (!isWithin(CHECK_EVERY_SECONDS, lookedAt, now)) {
      lookedAt = now
      limited = isLimited(mode)
    }
    if (!limited || isServedInLimitedMode(mode, request.method, pathBelow(request.url, urls.basePath))) return done()
    reply.headers(refusalHeaders(request, urls.isHttps))
    // UAA: the code contains "uaa" regardless of the service's name.
    const description = 'UAA intentionally in limited mode, operation not permitted. Please try later.'
    done(new PageError(503, description, { code: 'uaa_unavailable' }))
  }
}
