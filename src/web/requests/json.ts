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
/** More values than any record or batch has; each costs far more than its two characters, and parsing blocks all requests. */
const MAX_VALUES = 50_000
/**
 * More members than any object has. V8 keeps an object of so many as a hash table, each pass over which takes several times as
 * long.
 */
const MAX_MEMBERS = 5000

function parse(text: string): unknown {
  const written = countMembers(text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new MalformedInput('The request body is not valid JSON', { cause })
  }
  // RFC 8259 §4: parsers differ in which of several members they take, so a proxy may have judged another one.
  if (membersOf(value) !== written) throw new MalformedInput('The request body has a member twice')
  // A function for each member would take JSON.parse ten times as long. An escape can hide the name.
  if (/__proto__|\\u/.test(text) && hasPrototype(value)) throw new MalformedInput('The request body is not valid JSON')
  return value
}

/**
 * The members of all objects as written, some perhaps twice. Counts brackets, commas and colons outside of strings; a miscount in
 * invalid JSON does not matter, because it is refused anyway. Throws `MalformedInput` for a text that would take long to parse.
 */
function countMembers(text: string): number {
  const tooLarge = (problem: string): MalformedInput => new MalformedInput(`The request body ${problem}`)
  let depth = 0
  let values = 1
  let colons = 0
  let inString = false
  const members: number[] = [] // of the open objects, by depth; those of a list do not count
  for (let offset = 0; offset < text.length; offset += 1) {
    const character = text.charCodeAt(offset)
    if (character === QUOTE) inString = !inString
    else if (inString) offset += character === BACKSLASH ? 1 : 0
    else if (character === COLON) colons += 1
    else if (character === COMMA) {
      values += 1
      const count = (members[depth] ?? 0) + 1
      members[depth] = count
      if (count >= MAX_MEMBERS) throw tooLarge(`has an object with more than ${MAX_MEMBERS} members`)
    } else if (character === OPEN_BRACKET || character === OPEN_BRACE) {
      depth += 1
      members[depth] = character === OPEN_BRACE ? 0 : -Infinity
    } else if (character === CLOSE_BRACKET || character === CLOSE_BRACE) depth -= 1
    if (depth > MAX_DEPTH) throw tooLarge('is nested too deeply')
    if (values > MAX_VALUES) throw tooLarge(`has more than ${MAX_VALUES} values`)
  }
  return colons
}

const [QUOTE, BACKSLASH, COMMA, COLON, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from('"\\,:[]{}')

/** The members of all objects in the value. */
function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) for (const item of value) count += membersOf(item)
  else for (const member of Object.values(value)) count += 1 + membersOf(member)
  return count
}

/** Whether an object in the value has a member that could change a prototype when it is copied. */
function hasPrototype(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasPrototype)
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
