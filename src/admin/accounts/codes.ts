// `/Codes`: a login server keeps a text here for a while and gets it back once. These codes stand for no account, and those of
// accounts cannot be read here.
import type { FastifyInstance } from 'fastify'
import { keepText, takeText } from '../../accounts/texts.ts'
import type { KeptText, TextDeps } from '../../accounts/texts.ts'
import { addSeconds } from '../../base/clock.ts'
import { memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { OAuthError } from '../../model/oauth-error.ts'
import type { Service } from '../../model/service.ts'
import { isKeepable, readMoment } from '../../records/kinds.ts'
import { jsonBody, sendJson } from '../../web/json.ts'
import { malformedAs, refuseResource } from '../resources/refusal.ts'

/** Of `data`, in characters. */
export const MAX_DATA_LENGTH = 65_536
/** Five years: what nobody fetches is deleted one day. */
export const MAX_LIFE_SECONDS = 5 * 366 * 24 * 60 * 60

/** Each character may come as `\uXXXX`. */
const BODY_LIMIT = 6 * MAX_DATA_LENGTH + 1024

const refuse = (message: string, status = 400): OAuthError => refuseResource('code_store', message, { status })

/** `POST /Codes` and `GET /Codes/{code}`. */
export function codeEndpoints(app: FastifyInstance, deps: TextDeps & { readonly service: Service }): void {
  const access = { by: 'bearer', scopes: [deps.service.scope('admin'), 'oauth.login'], acrossZones: true } as const
  const errorHandler = malformedAs('code_store', 415)

  const posted = { config: { access, audience: 'api', body: 'json' }, errorHandler, bodyLimit: BODY_LIMIT } as const
  app.post('/Codes', posted, async (request, reply) => {
    const text = textIn(jsonBody(request), deps.clock.now())
    const code = await keepText(request.zone, text, deps)
    return sendJson(reply, toJson(code, text), 201)
  })

  app.get<{ Params: { code: string } }>(
    '/Codes/:code',
    { config: { access, audience: 'api' }, errorHandler, exposeHeadRoute: false }, // it uses the code up
    async (request, reply) => {
      const { code } = request.params
      const text = await takeText(request.zone, code, deps)
      if (!text) throw refuse(`Code not found: ${code}`, 404)
      return sendJson(reply, toJson(code, text))
    },
  )
}

/** UAA: `intent` is read by nobody, and always there. */
const toJson = (code: string, { data, expiresAt }: KeptText) => ({
  code,
  expiresAt: expiresAt.getTime(),
  data,
  intent: null,
})

function textIn(body: JsonRecord, now: Date): KeptText {
  const data = memberOf(body, 'data') ?? undefined
  const until = memberOf(body, 'expiresAt') ?? undefined
  if (data === undefined || until === undefined) throw refuse('data and expiresAt are required.')
  if (typeof data !== 'string' || !isKeepable(data)) throw refuse('data must be a string')
  if (data.length > MAX_DATA_LENGTH) throw refuse(`data must have at most ${MAX_DATA_LENGTH} characters`)
  const expiresAt = readMoment(until)
  if (!expiresAt) throw refuse('expiresAt must be a date and time')
  if (expiresAt <= now) throw refuse('expiresAt must be in the future.')
  if (expiresAt > addSeconds(now, MAX_LIFE_SECONDS)) throw refuse('expiresAt must be within the next five years')
  return { data, expiresAt }
}
