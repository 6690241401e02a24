import type { FastifyRequest } from 'fastify'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Form } from './form.ts'
import { EMPTY_FORM, MalformedInput, parseForm } from './form.ts'

/** Fastify's query parser, which must not throw: returns the `MalformedInput` for `queryForm` to throw. */
export function parseQuery(text: string): Form | MalformedInput {
  if (text === '') return EMPTY_FORM
  try {
    return parseForm(text)
  } catch (error) {
    if (error instanceof MalformedInput) return error
    throw error
  }
}

/** The query of a request; throws `MalformedInput` if it is not properly encoded. */
export function queryForm(request: FastifyRequest): Form {
  const query = request.query as Form | MalformedInput // set by `parseQuery` only
  if (query instanceof MalformedInput) throw query
  return query
}

/** The first of the names that was sent more than once, where that is refused (row A3). */
export const repeatedName = (
  form: Form,
  names: readonly string[],
  { refuseRepeated: refuses }: Behaviour,
): string | undefined => (refuses ? names.find(name => form.repeated.includes(name)) : undefined)

/** Throws `invalid_request` for the first of the names that was sent more than once (row A3). */
export function refuseRepeated(form: Form, names: readonly string[], behaviour: Behaviour): void {
  const repeated = repeatedName(form, names, behaviour)
  if (repeated === undefined) return
  throw new OAuthError('invalid_request', `The parameter ${repeated.slice(0, 100)} must not be repeated`)
}

/**
 * The query as sent, without its question mark; empty if there is none. It begins where the router lets it begin, which takes
 * `#` too: code that checks a signature over it must see the same query as the parser.
 */
export function rawQuery(request: FastifyRequest): string {
  const mark = request.url.search(/[?#]/)
  return mark < 0 ? '' : request.url.slice(mark + 1)
}

/** Encodes a form as a query, without the omitted names. Repeated names keep all values. */
export function encodeForm(form: Form, omit: readonly string[] = []): string {
  return form.names
    .filter(name => !omit.includes(name))
    .flatMap(name => form.all(name).map(value => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`))
    .join('&')
}

/** Encodes the named parameters of a form alone. */
export const encodeNamed = (form: Form, names: readonly string[]): string =>
  encodeForm(
    form,
    form.names.filter(name => !names.includes(name)),
  )
