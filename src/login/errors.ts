// The URLs of UAA's error pages. This server answers errors where they occur; only in `uaa` a failed sign-in at another provider
// redirects here. Proxies and load balancers may be configured to show these pages, too.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { describedIn, errorPage } from '../pages/error.ts'
import type { Texts } from '../pages/texts/texts.ts'
import { FORGED, wantsJson } from '../web/answers.ts'
import { MALICIOUS } from '../web/limits/suspicion.ts'
import { sendJson } from '../web/requests/json.ts'
import type { LoginDeps } from './deps.ts'

interface Shown {
  readonly title: keyof Texts['error']['titles']
  /** In English, as in the JSON answer. */
  readonly description: string
  /** The code in the JSON answer, also shown below the description. */
  readonly code: string
  /** The status that the page describes; the page itself is answered with 200. */
  readonly about?: number
  /** Whether `error` in the JSON answer holds the sentence instead of a code. */
  readonly isBare?: true
}

const GENERAL: Shown = {
  title: 'wrong',
  description:
    'Your request could not be completed. Go back and try again; if it fails again, contact your administrator.',
  code: 'error',
}
const REJECTED: Shown = {
  title: 'other',
  description: MALICIOUS,
  code: 'invalid_request',
  about: 400,
}

/** By path; `/error*` is every other path that begins so. */
const PAGES: Readonly<Record<string, Shown>> = {
  '/error': GENERAL,
  '/error*': GENERAL,
  '/error404': {
    title: 'notFound',
    description: 'The address may be mistyped, or the page has moved.',
    code: 'not_found',
    about: 404,
  },
  '/error429': {
    title: 'tooMany',
    description: 'Too many attempts. Wait a while, then try again.',
    code: 'too_many_requests',
    about: 429,
    isBare: true,
  },
  '/error500': {
    title: 'fault',
    description: 'The problem is on our side. Try again in a minute; if it fails again, contact your administrator.',
    code: 'server_error',
    about: 500,
  },
  '/saml_error': {
    title: 'notSignedIn',
    description: 'Sign-in with your SAML identity provider failed. Start again from the application.',
    code: 'saml_error',
  },
  '/oauth_error': {
    title: 'notSignedIn',
    description: 'Sign-in with your identity provider failed. Start again from the application.',
    code: 'oauth_error',
  },
  '/invalid_request': { title: 'invalid', description: FORGED, code: 'invalid_request', about: 403 },
}

/** `GET /error`, `/error*`, `/error404`, `/error429`, `/error500`, `/saml_error`, `/oauth_error`, `/invalid_request`, `/rejected`. */
export function errorPages(app: FastifyInstance, { pages, behaviour, samlFailures }: LoginDeps): void {
  const config = { access: { by: 'anyone', because: 'it shows nothing about accounts' }, audience: 'page' } as const

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { title, description, code, about, isBare }: Shown,
  ): Promise<FastifyReply> {
    if (wantsJson(request)) {
      const body = isBare ? { error: description } : { error: code, error_description: description }
      return sendJson(reply, body)
    }
    const chrome = await pages.chrome(request, reply)
    const page = errorPage(chrome, {
      ...describedIn(chrome.texts, description),
      status: about,
      ...(about !== undefined && { code }),
      title: chrome.texts.error.titles[title],
      back: { text: chrome.texts.error.start, url: `${chrome.basePath}/` },
    })
    return pages.send(reply, page)
  }

  for (const [path, shown] of Object.entries(PAGES)) {
    app.get(path, { config }, (request, reply) => {
      const description = path === '/saml_error' ? samlFailures.take(request, reply) : undefined
      return show(request, reply, description === undefined ? shown : { ...shown, description })
    })
  }
  app.get('/rejected', { config }, (request, reply) => show(request, reply.status(behaviour.rejectedStatus), REJECTED))
}
