// What of a bearer token tells one caller from another for the rate limiter. The token is not verified here: it is only
// asked whose it says to be, before anything that costs more.
import { isJsonRecord, memberOf, parseJson } from '../base/json.ts'
import { compileSearch } from '../base/pattern.ts'
import { digest } from '../base/secrets.ts'
import type { CredentialPart, TokenSection } from '../model/rate-limit.ts'

/** Reads an `Authorization` header; undefined where it carries no JWT or the part is not in it. */
export type CredentialReader = (authorization: string | undefined) => string | undefined

/** Whoever sends more is counted by the address: a pattern costs something for each character. */
const MAX_TOKEN_LENGTH = 8192
/** What is longer is remembered by its digest. */
const MAX_ID_LENGTH = 64

const JWT = /^bearer +([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*) *$/i

/** Compiles the part once. */
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
        return isJsonRecord(json) ? textOf(memberOf(json, part.claim)) : undefined
      }
  }
}

const decoded = (sections: Sections, section: TokenSection): string =>
  Buffer.from(sections[section], 'base64url').toString('utf8')

/** Lists and objects name nobody. */
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
