// Identifies a caller by its bearer token for the rate limiter. The token is not verified here, because that costs more.
import { isJsonRecord, memberOf, parseJson } from '../../base/json.ts'
import { compileSearch } from '../../base/text/pattern.ts'
import { digest } from '../../base/secrets.ts'
import type { CredentialPart, TokenSection } from '../../model/zones/rate-limit.ts'

/** Reads the caller's id from an `Authorization` header; undefined without a JWT, or if the JWT lacks the configured part. */
export type CredentialReader = (authorization: string | undefined) => string | undefined

/** Callers with longer tokens are counted by address: matching a pattern costs time per character. */
const MAX_TOKEN_LENGTH = 8192
/** Longer ids are replaced with their digest. */
const MAX_ID_LENGTH = 64

const JWT = /^(?:bearer|dpop) +([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*) *$/i

/** Compiles the configured part once, for all requests. */
export function createCredentialReader(part: CredentialPart): CredentialReader {
  const read = readerOf(part)
  return authorization => {
    if (authorization === undefined || authorization.length > MAX_TOKEN_LENGTH) return undefined
    const [, header, payload, signature] = JWT.exec(authorization) ?? []
    if (header === undefined || payload === undefined || signature === undefined) return undefined
    const id = read([header, payload, signature])
    if (id === undefined || id === '') return undefined
    return id.length > MAX_ID_LENGTH ? digest(id) : id
  }
}

type Sections = readonly [header: string, payload: string, signature: string]

function readerOf(part: CredentialPart): (sections: Sections) => string | undefined {
  switch (part.kind) {
    case 'token':
      return sections => sections.join('.')
    case 'section':
      return sections => sections[part.section]
    case 'pattern': {
      const search = compileSearch(part.pattern)
      return sections => {
        const groups = search.find(decoded(sections, part.section))
        return groups?.some(group => group !== '') ? groups.join('|') : undefined
      }
    }
    case 'claim':
      return sections => {
        const json = parseJson(decoded(sections, part.section))
        return isJsonRecord(json) ? idOf(memberOf(json, part.claim)) : undefined
      }
  }
}

const decoded = (sections: Sections, section: TokenSection): string =>
  Buffer.from(sections[section], 'base64url').toString('utf8')

/** Lists and objects identify no caller. */
const idOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
