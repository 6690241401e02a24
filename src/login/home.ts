import type { AddressedZone } from '../model/request.ts'
import type { ClientMetadata } from '../model/clients/client-metadata.ts'
import { linkOf } from '../model/zones/zone.ts'
import { homePage } from '../pages/home.ts'
import type { Tile } from '../pages/home.ts'
import { zoneStylesheet } from '../pages/parts/zone-stylesheet.ts'
import { PageError } from '../web/answers.ts'
import type { On } from '../web/deferred-routes.ts'
import type { SignInRoute } from './routes.ts'
import type { LoginDeps } from './deps.ts'

/** Icons are embedded in the page. Beyond this total size, applications get the first letter of their name instead. */
const MAX_ICON_LENGTH = 16_384

/** `GET /` and `/home`, and the stylesheet with the zone's own colours. */
export function homeHandlers(on: On<SignInRoute>, { store, pages, urls, pageSettings, behaviour }: LoginDeps): void {
  /** The applications of the home page; one that can initiate a sign-in is opened at that URL (OpenID Connect Core §4). */
  async function applicationsOf(zone: AddressedZone): Promise<readonly ClientMetadata[]> {
    const shown = await store.clients.listOnHomePage(zone.id)
    if (!behaviour.furtherProtocols) return shown
    const issuer = urls.issuer(zone)
    return Promise.all(
      shown.map(async each => {
        const client = await store.clients.find(zone.id, each.clientId) // cached
        const { appLaunchUrl } = each
        if (!appLaunchUrl || client?.initiateLoginUri === undefined) return each
        const url = new URL(client.initiateLoginUri)
        url.searchParams.set('iss', issuer)
        url.searchParams.set('target_link_uri', appLaunchUrl)
        return { ...each, appLaunchUrl: url.href }
      }),
    )
  }

  for (const name of ['GET /', 'GET /home'] as const) {
    on(name, async (request, reply) => {
      const homeRedirect = request.zone.config.links?.homeRedirect || pageSettings.links.homeRedirect
      if (homeRedirect && !['/', '/home'].includes(homeRedirect)) {
        const target = linkOf(request.zone, homeRedirect)
        return reply.redirect(target.startsWith('/') ? urls.ofZone(request.zone) + target : target, 302)
      }
      const chrome = await pages.chrome(request, reply)
      const tiles = tilesOf(await applicationsOf(request.zone))
      const { userName = '', givenName, profile } = request.user ?? {}
      return pages.send(reply, homePage(chrome, { name: profile?.displayName || givenName || userName, tiles }))
    })
  }

  on('GET /zone.css', async (request, reply) => {
    const text = zoneStylesheet(await pages.brandingOf(request.zone))
    if (text === undefined) throw new PageError(404, 'This zone has no colours of its own.')
    return reply.header('cache-control', 'public, max-age=300').type('text/css; charset=utf-8').send(text)
  })
}

function tilesOf(clients: readonly ClientMetadata[]): readonly Tile[] {
  let left = MAX_ICON_LENGTH
  return clients.flatMap(({ clientId, clientName = clientId, appLaunchUrl, appIcon = '' }): readonly Tile[] => {
    if (!appLaunchUrl) return []
    const fits = appIcon.length <= left
    if (fits) left -= appIcon.length
    return [{ name: clientName, url: appLaunchUrl, ...(fits && appIcon !== '' && { icon: appIcon }) }]
  })
}
