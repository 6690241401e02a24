import type { FastifyRequest } from 'fastify'
import { negotiateLanguage } from '../model/language.ts'
import type { Language } from '../model/language.ts'
import { parseSavedRequest } from '../model/session.ts'
import type { Urls } from '../model/urls.ts'
import type { Zone } from '../model/zone.ts'
import type { Form } from './form.ts'
import { MalformedInput, parseForm } from './form.ts'
import { ownPath } from './own-path.ts'
import { parseQuery, rawQuery } from './query.ts'
import { bodyForm } from './route.ts'

/** Pages on the way from an application to it: what it asks for holds there, even once somebody is signed in. */
const ON_THE_WAY = ['/login', '/force_password_change']

/**
 * The language to answer a person in. `ui_locales` counts where it was sent, and, on every page of a sign-in, where the
 * authorization request has it that waits for the sign-in; after it, what the browser is set to.
 */
export function languageOf(request: FastifyRequest, urls: Urls): Language {
  const query = parseQuery(rawQuery(request)) // afresh: Fastify has it otherwise where no route was found
  const forms = [query instanceof MalformedInput ? undefined : query, bodyForm(request)].filter(form => form != null)
  const sent = forms.map(form => form.get('ui_locales')).find(Boolean)
  const uiLocales = sent ?? waitingLocales(request, forms, urls)
  return negotiateLanguage({ uiLocales, acceptLanguage: request.headers['accept-language'] })
}

/** Those of the authorization request that a form leads back to, or that waits for the sign-in. */
function waitingLocales(request: FastifyRequest, forms: readonly Form[], urls: Urls): string | undefined {
  const zone = request.zone as Zone | undefined // absent where the host belongs to none
  const targets = zone ? forms.map(form => ownPath(urls.addressesOf(zone), form.get('form_redirect_uri'))) : []
  // Only what was looked up already: a word or two are no reason to ask the database.
  const saved = isOnTheWay(request, urls) ? parseSavedRequest(request.waiting)?.path : undefined
  return [...targets, saved].map(localesIn).find(locales => locales !== undefined)
}

function isOnTheWay({ visit, url }: FastifyRequest, { basePath }: Urls): boolean {
  return visit?.signIn === undefined || ON_THE_WAY.some(path => url.startsWith(basePath + path))
}

function localesIn(path: string | undefined): string | undefined {
  if (!path?.startsWith('/oauth/authorize?')) return undefined
  try {
    return parseForm(path.slice(path.indexOf('?') + 1).replace(/#.*$/s, '')).get('ui_locales') || undefined
  } catch (error) {
    if (error instanceof MalformedInput) return undefined // whoever reads the request says what is wrong with it
    throw error
  }
}
