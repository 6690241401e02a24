// Where the parameters of the token endpoint and of /check_token may stand (row C5).
import type { FastifyRequest } from 'fastify'
import { OAuthError } from '../model/oauth-error.ts'
import type { TokenSettings } from '../model/settings.ts'
import type { Form } from '../web/form.ts'
import { EMPTY_FORM, joinForms } from '../web/form.ts'
import { queryForm } from '../web/query.ts'
import { bodyForm } from '../web/route.ts'

/** What a log or a browser's history may hold. */
const NO_SECRETS: ReadonlySet<string> = new Set(['grant_type', 'client_id', 'scope', 'response_type', 'token_format'])

/**
 * The form of a request: its body alone, and where the setting allows it the query with it, or `mayHaveQuery` those of its
 * parameters that are no secret. Throws for any other query.
 */
export function formOf(
  request: FastifyRequest,
  { queryString }: TokenSettings,
  { mayHaveQuery = false }: { readonly mayHaveQuery?: boolean } = {},
): Form | undefined {
  const body = bodyForm(request)
  if (!request.url.includes('?')) return body
  if (queryString) return joinForms(queryForm(request), body ?? EMPTY_FORM)
  if (mayHaveQuery && queryForm(request).names.every(name => NO_SECRETS.has(name))) {
    return joinForms(queryForm(request), body ?? EMPTY_FORM)
  }
  throw new OAuthError('query_string_not_allowed', 'Parameters must be passed in the body of the request')
}
