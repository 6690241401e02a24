// Requests that are refused before routing, for every caller.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Behaviour } from '../../model/compatibility.ts'
import type { Urls } from '../../model/urls.ts'
import { PageError, refusalHeaders } from '../answers.ts'
import { securityHeaders } from '../headers.ts'

/** Refusal of a path that a proxy could read differently. */
export const MALICIOUS = 'The request was rejected because it contained a potentially malicious character.'

/** Hook: refuses TRACE, and in `uaa` a path with a `;`. */
export function createSuspicion({ behaviour, urls }: { behaviour: Behaviour; urls: Urls }) {
  // Not async: every request passes here.
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    if (request.method === 'TRACE') {
      // Never a page: a browser must not render an answer to TRACE (RFC 9110 §9.3.8).
      reply
        .headers(securityHeaders('api', urls.isHttps))
        .status(405)
        .header('allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
        .type('application/json')
        .send('{"error":"method_not_allowed","error_description":"Request method \'TRACE\' not supported"}')
      return
    }
    if (behaviour.plainSemicolons || !hasSemicolon(request.url)) return done()
    reply.headers(refusalHeaders(request, urls.isHttps))
    done(new PageError(400, MALICIOUS))
  }
}

const hasSemicolon = (url: string): boolean => /^[^?]*(?:;|%3b)/i.test(url)
