// application/json, strictly: UTF-8, an object on top, no member that could reach into a prototype.
import type { FastifyRequest } from 'fastify'
import { isJsonRecord } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'
import { MalformedInput } from './form.ts'

/** The object in the body of a request. */
export type JsonObject = JsonRecord

/** Parses text that is already known to be UTF-8. Throws `MalformedInput` for anything that is no JSON object. */
export function parseJsonObject(text: string): JsonObject {
  const value = parse(text)
  if (!isJsonRecord(value)) throw new MalformedInput('The request body must be a JSON object')
  return value
}

/** Parses a list of objects, or null, which counts as an empty one. Throws `MalformedInput` for anything else. */
export function parseJsonList(text: string): readonly JsonObject[] {
  const value = parse(text) ?? []
  if (!Array.isArray(value)) throw new MalformedInput('The request body must be a JSON array')
  const items: unknown[] = value
  if (!items.every(isJsonRecord)) throw new MalformedInput('The request body must be an array of JSON objects')
  return items
}

/** More levels than any record has; whoever walks a value later may do so by recursion. */
const MAX_DEPTH = 32

function parse(text: string): unknown {
  if (isDeep(text)) throw new MalformedInput('The request body is nested too deeply')
  try {
    return JSON.parse(text, refusePrototype)
  } catch (cause) {
    throw new MalformedInput('The request body is not valid JSON', { cause })
  }
}

/** Counts brackets outside of strings; text that is no JSON may count wrong, and is refused anyway. */
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

/** The JSON in the body of a route that takes it; throws `MalformedInput` for a request without a body. */
export function jsonBody(request: FastifyRequest): JsonObject {
  if (request.body === undefined || request.body === null) throw new MalformedInput('The request has no body')
  return request.body as JsonObject // set by the JSON parser only
}

/** The list in the body of a route that takes one; throws `MalformedInput` for a request without a body. */
export function jsonList(request: FastifyRequest): readonly JsonObject[] {
  if (request.body === undefined || request.body === null) throw new MalformedInput('The request has no body')
  return request.body as readonly JsonObject[] // set by the parser of lists only
}
