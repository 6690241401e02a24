// application/json, strictly: UTF-8, an object on top, no member that could reach into a prototype.
import type { FastifyRequest } from 'fastify'
import { MalformedInput } from './form.ts'

/** The object in the body of a request. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Parses text that is already known to be UTF-8. Throws `MalformedInput` for anything that is no JSON object. */
export function parseJsonObject(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text, refusePrototype)
  } catch (cause) {
    throw new MalformedInput('The request body is not valid JSON', { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new MalformedInput('The request body must be a JSON object')
  }
  return value as JsonObject // no array, no null: an object
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
