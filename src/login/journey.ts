// Where somebody who signs in is on the way to, and for which client: every page of the sign-in asks it.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Client } from '../model/client.ts'
import type { SavedRequest } from '../model/session.ts'
import type { Urls } from '../model/urls.ts'
import type { Zone } from '../model/zone.ts'
import type { Store } from '../store/store.ts'
import type { Form } from '../web/form.ts'
import { parseForm } from '../web/form.ts'
import { ownPath } from '../web/own-path.ts'
import type { Sessions } from '../web/session.ts'

/** What is known of the way. */
export interface Journey {
  /** Path and query below the zone's base URL, of the page's own field or of what was saved. */
  readonly path: string | undefined
  /** What was saved when the person was asked to sign in. */
  readonly saved: SavedRequest | undefined
  /** On whose behalf the person signs in, when the path is an authorization request. */
  readonly client: Client | undefined
  /** The login hint of that request. */
  readonly hint: string | undefined
}

/** Finds out where people are on the way to. */
export interface Journeys {
  /** By the `form_redirect_uri` of a form or a query, and else by what was saved. */
  of(request: FastifyRequest, form: Form): Promise<Journey>
  /** The client of an authorization request at this path. */
  clientOf(zone: Zone, path: string | undefined): Promise<Client | undefined>
  /** Makes the next page lead where this one did, whatever became of the session or another tab. */
  keep(request: FastifyRequest, reply: FastifyReply, journey: Journey): Promise<void>
}

/** One instance serves every zone. */
export function createJourneys({ store, sessions, urls }: { store: Store; sessions: Sessions; urls: Urls }): Journeys {
  async function clientOf(zone: Zone, path: string | undefined): Promise<Client | undefined> {
    const clientId = authorizationQuery(path)?.get('client_id')
    return clientId ? store.clients.find(zone.id, clientId) : undefined
  }

  return {
    clientOf,
    async of(request, form) {
      const saved = await sessions.savedRequest(request)
      const path = ownPath(urls.addressesOf(request.zone), form.get('form_redirect_uri')) ?? saved?.path
      const client = await clientOf(request.zone, path)
      return { path, saved, client, hint: authorizationQuery(path)?.get('login_hint') }
    },
    async keep(request, reply, { path, saved }) {
      if (path === undefined || path === saved?.path) return
      await sessions.saveRequest(request, reply, { path, reauthenticate: saved?.reauthenticate ?? false })
    },
  }
}

function authorizationQuery(path: string | undefined): Form | undefined {
  if (!path?.startsWith('/oauth/authorize?')) return undefined
  try {
    return parseForm(path.slice(path.indexOf('?') + 1).replace(/#.*$/s, ''))
  } catch {
    return undefined // the authorization endpoint will say what is wrong with it
  }
}
