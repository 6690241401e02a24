// Strict application/json: UTF-8, an object at the top level, no member that could change a prototype.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isJsonRecord } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { MalformedInput } from './form.ts'

/** A JSON object from a request body, with unchecked members. */
export type JsonObject = JsonRecord

/** Parses valid UTF-8. Throws `MalformedInput` for anything but a JSON object. */
export function parseJsonObject(text: string): JsonObject {
  const value = parse(text)
  if (!isJsonRecord(value)) throw new MalformedInput('The request body must be a JSON object')
  return value
}

/** Parses a list of objects, or null. Throws `MalformedInput` for anything else. */
export function parseJsonList(text: string): readonly JsonObject[] | null {
  const value = parse(text)
  if (value === null) return null
  if (!Array.isArray(value)) throw new MalformedInput('The request body must be a JSON array')
  const items: unknown[] = value
  if (!items.every(isJsonRecord)) throw new MalformedInput('The request body must be an array of JSON objects')
  return items
}

/** More levels than any record has; bounded, so that later code may recurse. */
const MAX_DEPTH = 32

function parse(text: string): unknown {
  if (isDeep(text)) throw new MalformedInput('The request body is nested too deeply')
  try {
    return JSON.parse(text, refusePrototype)
  } catch (cause) {
    throw new MalformedInput('The request body is not valid JSON', { cause })
  }
}

/** Counts brackets outside of strings; a miscount in invalid JSON does not matter, because it is refused anyway. */
function isDeep(text: string): boolean {
  let depth = 0
  let inString = false
  for (let place = 0; place < text.length; place += 1) {
    const character = text[place]
    if (inString && character === '\\') place += 1
    else if (character === '"') inString = !inString
    else if (!inString && (character === '[' || character === '{')) depth += 1
    else if (!inString && (character === ']' || character === '}')) depth -= 1
    if (depth > MAX_DEPTH) return true
  }
  return false
}

function refusePrototype(key: string, value: unknown): unknown {
  if (key === '__proto__') throw new SyntaxError('a member named __proto__')
  return value
}

/** The body of a route with `body: 'json'`; throws `MalformedInput` if there is none. */
export function jsonBody(request: FastifyRequest): JsonObject {
  if (request.body === undefined || request.body === null) throw new MalformedInput('The request has no body')
  return request.body as JsonObject // set by the JSON parser only
}

/** The body of a route with `body: 'json list'`; throws `MalformedInput` if there is none, or null. */
export function jsonList(request: FastifyRequest): readonly JsonObject[] {
  if (request.body === undefined || request.body === null) throw new MalformedInput('The request has no body')
  return request.body as readonly JsonObject[] // set by the JSON list parser only
}

/** The same, where null counts as an empty list. */
export function jsonListOrNull(request: FastifyRequest): readonly JsonObject[] {
  return request.body === null ? [] : jsonList(request)
}

/** The body of a route with `body: 'text'`, without blanks around it; empty if there is none. */
export const textBody = (request: FastifyRequest): string =>
  typeof request.body === 'string' ? request.body.trim() : ''

/** Answers any value as JSON, a bare string too; with the status that the reply has unless one is given. */
export const sendJson = (reply: FastifyReply, body: unknown, status = reply.statusCode): FastifyReply =>
  reply.status(status).type('application/json').send(JSON.stringify(body))
