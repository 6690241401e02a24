// What a body may be: the content types that are read at all, and by which parser.
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { BadEncoding, MalformedInput, parseForm } from './form.ts'
import { parseJsonList, parseJsonObject } from './json.ts'

const wantedBody = (request: FastifyRequest): (typeof BODIES)[number] =>
  BODIES.find(({ kind }) => kind === request.routeOptions.config.body) ?? BODIES[0]

const wrongContentType = (request: FastifyRequest): MalformedInput =>
  new MalformedInput(`The content type must be ${wantedBody(request).type}`)

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'
const BODIES = [
  { kind: 'form', type: FORM, parse: parseForm },
  { kind: 'json', type: JSON_TYPE, parse: parseJsonObject },
  { kind: 'json list', type: JSON_TYPE, parse: parseJsonList },
] as const

/** A body is what its route says, a form or JSON: strict UTF-8, no other content type. */
export function acceptBodies(http: FastifyInstance): void {
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('*', (request, _, done) => done(wrongContentType(request)))
  for (const type of [FORM, JSON_TYPE]) {
    http.addContentTypeParser(type, { parseAs: 'buffer' }, (request, body, done) => {
      try {
        const { type: wanted, parse } = wantedBody(request)
        const fits = type === wanted
        // Many clients name a type with a DELETE that has no body: nothing is of no type, and no JSON.
        if ((!fits || type === JSON_TYPE) && body.length === 0) return done(null, undefined)
        if (!fits) throw wrongContentType(request)
        const charset = /;\s*charset="?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
        if (charset !== undefined && charset.toLowerCase() !== 'utf-8')
          throw new MalformedInput('The charset must be UTF-8')
        if (!isUtf8(body as Buffer)) throw new BadEncoding('The request body is not UTF-8')
        done(null, parse(body.toString()))
      } catch (error) {
        done(error instanceof Error ? error : new Error('unreadable body', { cause: error }))
      }
    })
  }
}
