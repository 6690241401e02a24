// `/Codes`: a login server stores a text here temporarily and can fetch it once. These codes belong to no account, and codes of
// accounts cannot be read here.
import { storeText, redeemText } from '../../accounts/texts.ts'
import type { StoredText } from '../../accounts/texts.ts'
import { addSeconds } from '../../base/clock.ts'
import { memberOf } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import type { OAuthError } from '../../model/oauth-error.ts'
import { isKeepable, readMoment } from '../../records/kinds.ts'
import type { On } from '../../web/deferred-routes.ts'
import { jsonBody, sendJson } from '../../web/requests/json.ts'
import { refuseResource } from '../../users/refusal.ts'
import type { CodeRoute } from './routes.ts'
import type { AdminDeps } from '../deps.ts'

/** Characters of `data`. */
export const MAX_DATA_LENGTH = 65_536
/** Five years: a text that is never fetched is deleted eventually. */
const MAX_LIFE_SECONDS = 5 * 366 * 24 * 60 * 60

const refuse = (message: string, status = 400): OAuthError => refuseResource('code_store', message, { status })

/** `POST /Codes` and `GET /Codes/{code}`. */
export function codeHandlers(on: On<CodeRoute>, deps: AdminDeps): void {
  on('POST /Codes', async (request, reply) => {
    const text = textIn(jsonBody(request), deps.clock.now())
    const code = await storeText(request.zone, text, deps)
    return sendJson(reply, toJson(code, text), 201)
  })

  on<{ Params: { code: string } }>('GET /Codes/:code', async (request, reply) => {
    const { code } = request.params
    const text = await redeemText(request.zone, code, deps)
    if (!text) throw refuse(`Code not found: ${code}`, 404)
    return sendJson(reply, toJson(code, text))
  })
}

/** UAA: `intent` is never read, but always present. */
const toJson = (code: string, { data, expiresAt }: StoredText) => ({
  code,
  expiresAt: expiresAt.getTime(),
  data,
  intent: null,
})

function textIn(body: JsonRecord, now: Date): StoredText {
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
