// Requests that are refused whether or not there is a route, for every caller.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Behaviour } from '../../model/compatibility.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { Urls } from '../../model/urls.ts'
import { PageError, refusalHeaders } from '../answers.ts'
import { securityHeaders } from '../headers.ts'
import { sendJson } from '../requests/json.ts'
import type { UnroutedAnswerSearch } from '../route.ts'

/** Refusal of a path that a proxy could read differently. */
export const MALICIOUS = 'The request was rejected because it contained a potentially malicious character.'

/** Hook: refuses TRACE, and in `uaa` a path with a `;`. */
export function createSuspicion(deps: {
  behaviour: Behaviour
  urls: Urls
  /** The answer of the API at the path. */
  ownAnswerTo: UnroutedAnswerSearch
}) {
  const { behaviour, urls, ownAnswerTo } = deps
  // Not async: every request passes here.
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    if (request.method === 'TRACE') {
      // Never a page: a browser must not render an answer to TRACE (RFC 9110 §9.3.8).
      const error = new OAuthError('method_not_allowed', "Request method 'TRACE' not supported")
      reply
        .headers(securityHeaders('api', urls.isHttps))
        .header('allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
      const ownAnswer = ownAnswerTo(request)
      if (ownAnswer) return ownAnswer(error, request, reply)
      sendJson(reply, { error: error.error, error_description: error.message }, error.status)
      return
    }
    if (behaviour.plainSemicolons || !hasSemicolon(request.url)) return done()
    reply.headers(refusalHeaders(request, urls.isHttps))
    done(new PageError(400, MALICIOUS))
  }
}

const hasSemicolon = (url: string): boolean => /^[^?]*(?:;|%3b)/i.test(url)
