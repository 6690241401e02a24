// Answers a failed sign-in at another provider: with a page in place, or with a redirect to one.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { describedIn, errorPage } from '../../pages/error.ts'
import type { Failure } from './external-failures.ts'
import type { ExternalDeps } from './returns.ts'
import { goTo } from '../../web/redirect.ts'

/** The path, below the zone's base URL, of the page that UAA redirects to after a failure. */
export type FailurePath = '/oauth_error' | '/saml_error'

/** Shows the failure. */
export type ShowFailure = (
  request: FastifyRequest,
  reply: FastifyReply,
  why: { readonly failure: Failure; readonly failurePath: FailurePath },
) => Promise<FastifyReply>

/** One instance serves every zone. */
export function createFailurePage(deps: ExternalDeps): ShowFailure {
  const { sessions, samlFailures, pages, urls, behaviour } = deps

  return async (request, reply, { failure, failurePath }) => {
    if (!behaviour.externalFailureInPlace) {
      if (failurePath === '/saml_error') samlFailures.keep(reply, failure.description)
      return goTo(reply, failurePath, urls)
    }
    // The user may be signed in already if the callback is opened a second time.
    const isSignedIn = (await sessions.signedIn(request)) !== undefined
    const chrome = await pages.chrome(request, reply)
    const { basePath } = chrome
    const texts = chrome.texts.error
    const back = isSignedIn
      ? { text: texts.start, url: `${basePath}/` }
      : { text: texts.again, url: `${basePath}/login` }
    const page = errorPage(chrome, {
      ...failure,
      ...describedIn(chrome.texts, failure.description),
      explanation: chrome.texts.descriptions.unusableAccount, // of what the provider sent, which has no text for users
      title: texts.titles.signInRefused,
      back,
    })
    return pages.send(reply.status(failure.status), page)
  }
}
