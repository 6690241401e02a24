import type { FastifyRequest } from 'fastify'
import { negotiateLanguage } from '../model/language.ts'
import type { Language } from '../model/language.ts'
import { preferredLanguage } from '../model/users/user.ts'
import type { User } from '../model/users/user.ts'
import { parseSavedRequest } from '../model/sessions/session.ts'
import type { Urls } from '../model/urls.ts'
import type { Form } from './requests/form.ts'
import { MalformedInput, parseForm } from './requests/form.ts'
import { ownPath } from './requests/own-path.ts'
import { parseQuery, rawQuery } from './requests/query.ts'
import { bodyForm } from './route.ts'
import { zoneIfFound } from './requests/request-context.ts'

/** Pages of a sign-in: the application's `ui_locales` apply here, even once signed in. */
const SIGN_IN_PAGES = ['/login', '/second_factor', '/force_password_change']

/**
 * Chooses the language of a page: from `ui_locales` of this request, else on the pages of a sign-in from `ui_locales` of the
 * pending authorization request, else from the account of the signed-in user, else from `Accept-Language`.
 */
export function languageOf(request: FastifyRequest, urls: Urls): Language {
  const query = parseQuery(rawQuery(request)) // parsed again: Fastify has not parsed it if no route was found
  const forms = [query instanceof MalformedInput ? undefined : query, bodyForm(request)].filter(form => form != null)
  const sent = forms.map(form => form.get('ui_locales')).find(Boolean)
  const uiLocales = sent ?? pendingLocales(request, forms, urls)
  const preferred = preferredLanguage(request.user)
  return negotiateLanguage({ uiLocales, preferred, acceptLanguage: request.headers['accept-language'] })
}

/** The language of mails to a user who did not make the request. */
export const languageOfUser = (user: User): Language => negotiateLanguage({ preferred: preferredLanguage(user) })

/** The `ui_locales` of the authorization request that a form returns to, or that is pending. */
function pendingLocales(request: FastifyRequest, forms: readonly Form[], urls: Urls): string | undefined {
  const zone = zoneIfFound(request)
  const targets = zone ? forms.map(form => ownPath(urls.addressesOf(zone), form.get('form_redirect_uri'))) : []
  // Known once the session was loaded.
  const saved = isSignInPage(request, urls) ? parseSavedRequest(request.waiting)?.path : undefined
  return [...targets, saved].map(localesIn).find(locales => locales !== undefined)
}

function isSignInPage({ visit, url }: FastifyRequest, { basePath }: Urls): boolean {
  return visit?.signIn === undefined || SIGN_IN_PAGES.some(path => url.startsWith(basePath + path))
}

function localesIn(path: string | undefined): string | undefined {
  if (!path?.startsWith('/oauth/authorize?')) return undefined
  try {
    return parseForm(path.slice(path.indexOf('?') + 1).replace(/#.*$/s, '')).get('ui_locales') || undefined
  } catch (error) {
    if (error instanceof MalformedInput) return undefined // the endpoint itself refuses the request
    throw error
  }
}
