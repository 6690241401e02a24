// The target of a sign-in, and its client; used by every sign-in page.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Client } from '../../model/clients/client.ts'
import type { SavedRequest } from '../../model/sessions/session.ts'
import type { Zone } from '../../model/zones/zone.ts'
import type { Form } from '../../web/requests/form.ts'
import { parseForm } from '../../web/requests/form.ts'
import { ownPath } from '../../web/requests/own-path.ts'
import type { LoginParts } from '../parts.ts'

/** The target of a sign-in. */
export interface SignInTarget {
  /** Path and query below the zone's base URL, from the page's field or the saved request. */
  readonly path: string | undefined
  /** The request saved when the user was asked to sign in. */
  readonly saved: SavedRequest | undefined
  /** The client, if the path is an authorization request. */
  readonly client: Client | undefined
  /** The login hint of that request. */
  readonly hint: string | undefined
  /** The parameters of that request. */
  readonly query?: Form | undefined
}

/** Determines the target of a sign-in. */
export interface SignInTargets {
  /** Reads `form_redirect_uri` of a form or query, else the saved request. */
  of(request: FastifyRequest, form: Form): Promise<SignInTarget>
  /** The client of an authorization request at this path. */
  clientOf(zone: Zone, path: string | undefined): Promise<Client | undefined>
  /** Passes the target on to the next page, regardless of the session and of other tabs. */
  keep(request: FastifyRequest, reply: FastifyReply, signInTarget: SignInTarget): Promise<void>
}

/** One instance serves every zone. */
export function createSignInTargets({ store, sessions, urls }: LoginParts): SignInTargets {
  async function clientOf(zone: Zone, path: string | undefined): Promise<Client | undefined> {
    const clientId = (authorizationQuery(path) ?? deviceQuery(path))?.get('client_id')
    return clientId ? store.clients.find(zone.id, clientId) : undefined
  }

  return {
    clientOf,
    async of(request, form) {
      const saved = await sessions.savedRequest(request)
      const path = ownPath(urls.addressesOf(request.zone), form.get('form_redirect_uri')) ?? saved?.path
      const client = await clientOf(request.zone, path)
      const query = authorizationQuery(path)
      return { path, saved, client, hint: query?.get('login_hint'), query }
    },
    async keep(request, reply, { path, saved }) {
      if (path === undefined || path === saved?.path) return
      await sessions.saveRequest(request, reply, { reauthenticate: false, ...saved, path })
    },
  }
}

/** The parameters of an authorization request at this path; undefined for any other path. */
export const authorizationQuery = (path: string | undefined): Form | undefined => queryAt(path, '/oauth/authorize?')

/** The same for the device page (RFC 8628), which names the client if that requires a stronger sign-in. */
const deviceQuery = (path: string | undefined): Form | undefined => queryAt(path, '/device?')

function queryAt(path: string | undefined, start: string): Form | undefined {
  if (!path?.startsWith(start)) return undefined
  try {
    return parseForm(path.slice(path.indexOf('?') + 1).replace(/#.*$/s, ''))
  } catch {
    return undefined // the authorization endpoint refuses it
  }
}
