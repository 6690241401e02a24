// Which content types are accepted, and how each is parsed.
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import { BadEncoding, MalformedInput, parseForm } from './form.ts'
import { parseJsonList, parseJsonObject } from './json.ts'
import type { RouteConfig } from '../route.ts'

const expectedBody = ({ routeOptions: { config } }: FastifyRequest): Body => {
  const [first] = BODIES
  return BODIES.find(({ kind }) => kind === config.body) ?? first
}

/** The content types that the route takes. */
export const takenTypes = (request: FastifyRequest): readonly string[] => expectedBody(request).types

/** Thrown for a body of a type that the route does not take. */
export class WrongContentType extends MalformedInput {}

/** Thrown for a compressed body (RFC 9110 §15.5.16). */
export class EncodedBody extends OAuthError {
  constructor() {
    super({ error: 'invalid_request', status: 415 }, 'The request body must not have a content encoding')
  }
}

const isEncoded = ({ headers }: FastifyRequest): boolean =>
  !/^(?:identity)?$/i.test(headers['content-encoding']?.trim() ?? '')

/** Whether it was thrown for the content type, by us or by Fastify, which cannot read it at all. */
export const isWrongContentType = (thrown: unknown): boolean =>
  thrown instanceof WrongContentType ||
  (thrown instanceof Error && Reflect.get(thrown, 'code') === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')

const wrongContentType = (request: FastifyRequest): WrongContentType =>
  new WrongContentType(`The content type must be ${expectedBody(request).types[0]}`)

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'
const SCIM = 'application/scim+json'
const BODIES: readonly [Body, ...Body[]] = [
  { kind: 'form', types: [FORM], parse: parseForm },
  { kind: 'json', types: [JSON_TYPE], parse: parseJsonObject },
  { kind: 'json list', types: [JSON_TYPE], parse: parseJsonList },
  { kind: 'scim', types: [SCIM, JSON_TYPE], parse: parseJsonObject }, // RFC 7644 §8.1
  { kind: 'text', types: ['text/plain'], parse: text => text }, // UAA: of any type, usually JSON without quotes
  {
    kind: 'form or json',
    types: [FORM, JSON_TYPE],
    parse: (text, type) => (type === FORM ? parseForm(text) : parseJsonObject(text)),
  },
]

interface Body {
  readonly kind: NonNullable<RouteConfig['body']>
  readonly types: readonly [string, ...string[]]
  readonly parse: (text: string, type: string | undefined) => unknown
}

/** Routes that accept every method are not deletions, even when called with DELETE. */
const isDeletion = (request: FastifyRequest): boolean => String(request.routeOptions.method) === 'DELETE'

/** A form in ISO-8859-1 as one in UTF-8: its percent-codes stand for characters, not for bytes of UTF-8. */
const fromLatin1 = (body: Buffer): string =>
  body.toString('latin1').replace(/%[89a-f][\da-f]/gi, code => encodeURIComponent(unescapedByte(code)))

const unescapedByte = (code: string): string => String.fromCodePoint(Number.parseInt(code.slice(1), 16))

/**
 * Accepts a form or JSON, as the route declares: strict UTF-8, not compressed, no other content type. The body of a DELETE is read
 * up to the limit and ignored (RFC 9110 §9.3.5). UAA: a body that is not a form counts as empty. See docs/compatibility.md, C5.
 */
export function acceptBodies(http: FastifyInstance, { refuseOtherBodies }: Behaviour): void {
  const isIgnored = (request: FastifyRequest): boolean =>
    isDeletion(request) || (!refuseOtherBodies && expectedBody(request).kind === 'form')

  function read(request: FastifyRequest, body: Buffer, type: string | undefined): unknown {
    const { kind, types, parse } = expectedBody(request)
    const fits = kind === 'text' || (type !== undefined && types.includes(type))
    if (isDeletion(request) || (!fits && isIgnored(request))) return undefined
    // An empty body has no content type, and is not JSON.
    if ((!fits || type !== FORM) && body.length === 0) return undefined
    if (!fits) throw wrongContentType(request)
    if (body.length > 0 && isEncoded(request)) throw new EncodedBody()
    const charset = /;\s*charset="?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
    // UAA: Java clients send it. Every sequence of bytes is valid and means one text.
    if (!refuseOtherBodies && type === FORM && charset?.toLowerCase() === 'iso-8859-1')
      return parse(fromLatin1(body), type)
    if (charset !== undefined && charset.toLowerCase() !== 'utf-8')
      throw new MalformedInput('The charset must be UTF-8')
    if (!isUtf8(body)) throw new BadEncoding('The request body is not UTF-8')
    return parse(body.toString(), type)
  }

  http.removeAllContentTypeParsers()
  for (const type of ['*', FORM, JSON_TYPE, SCIM]) {
    http.addContentTypeParser(type, { parseAs: 'buffer' }, (request, body, done) => {
      try {
        if (type === '*' && !isIgnored(request) && expectedBody(request).kind !== 'text')
          throw wrongContentType(request)
        const bytes = body as Buffer // by `parseAs`
        done(null, read(request, bytes, type === '*' ? undefined : type))
      } catch (error) {
        done(error instanceof Error ? error : new Error('unreadable body', { cause: error }))
      }
    })
  }
}
