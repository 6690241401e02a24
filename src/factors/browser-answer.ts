// Parses the response of a browser in a passkey ceremony, before anything in it is verified (Web Authentication Level 3 §5.1).
import { isJsonRecord, memberOf, parseJson } from '../base/json.ts'

/** Maximum characters of a response; real ones have a tenth of it. */
const MAX_ANSWER_LENGTH = 16_384
/** Characters of base64url: 1,023 bytes, the most that the standard allows. */
export const MAX_ID_LENGTH = 1364
const TRANSPORT = /^[a-z-]{1,20}$/

/** The parsed parts of a browser's response. */
export interface BrowserAnswer {
  readonly id: string
  /** The required members, each of base64url. */
  readonly response: Readonly<Record<string, string>>
  readonly userHandle: string | undefined
  readonly transports: readonly string[]
}

/** Reads the JSON of a credential; undefined if a member is missing, too long or of another type. */
export function readAnswer(text: string, required: readonly string[]): BrowserAnswer | undefined {
  if (text.length > MAX_ANSWER_LENGTH) return undefined
  const value = parseJson(text)
  const sent = isJsonRecord(value) && isJsonRecord(value['response']) ? value['response'] : undefined
  const id = memberOf(value, 'id')
  if (!sent || typeof id !== 'string' || id.length > MAX_ID_LENGTH || !isBase64url(id)) return undefined
  const response: Record<string, string> = {}
  for (const name of required) {
    const member = Object.hasOwn(sent, name) ? sent[name] : undefined
    if (typeof member !== 'string' || !isBase64url(member)) return undefined
    response[name] = member
  }
  const handle = sent['userHandle'] ?? undefined
  if (handle !== undefined && typeof handle !== 'string') return undefined
  const { transports } = sent
  const names = Array.isArray(transports) ? transports.filter(each => typeof each === 'string') : []
  return {
    id,
    response,
    userHandle: handle,
    transports: names.filter(each => TRANSPORT.test(each)).slice(0, 8),
  }
}

const isBase64url = (text: string): boolean => /^[\w-]+$/.test(text)

/** The members by which the library identifies the credential. */
export const identityOf = ({ id }: BrowserAnswer) =>
  ({ id, rawId: id, type: 'public-key', clientExtensionResults: {} }) as const

/** What the browser collected (§5.8.1), before anything is verified. Our pages are never in frames. */
export function clientDataOf(base64url: string): { readonly challenge: string; readonly isFramed: boolean } {
  const value = parseJson(Buffer.from(base64url, 'base64url').toString())
  const challenge = memberOf(value, 'challenge')
  return {
    challenge: typeof challenge === 'string' ? challenge : '',
    isFramed: (memberOf(value, 'crossOrigin') ?? false) !== false,
  }
}
