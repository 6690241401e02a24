import type { FastifyInstance } from 'fastify'
import type { Urls } from '../model/urls.ts'
import type { Zone } from '../model/zone.ts'
import { promptsOf, samlEntityIdOf, selfServiceLinks } from '../model/zone.ts'

/** What `/info` tells: nothing that is not on the sign-in page already. */
export interface ServerInfo {
  readonly app: { readonly version: string }
  readonly zone_name: string
  readonly entityID: string
  readonly links: Readonly<Record<string, string>>
  /** By name: the type of the field, and its label. */
  readonly prompts: Readonly<Record<string, readonly [string, string]>>
  readonly idpDefinitions: Readonly<Record<string, string>>
  readonly showLoginLinks: boolean
  readonly defaultIdpName?: string
}

/** Server information of a zone, as `/info` and a program's `/login` tell it. */
export function createServerInfo(deps: {
  urls: Urls
  version: string
  samlEntityId: string
  /** Whether anybody can sign in by the form. */
  takesPasswords: (zone: Zone) => Promise<boolean>
}): (zone: Zone) => Promise<ServerInfo> {
  const { urls, version, samlEntityId, takesPasswords } = deps
  return async zone => {
    const base = urls.ofZone(zone)
    const { signup, passwd } = selfServiceLinks(zone)
    // No provider has a link on the page, so nobody could use a passcode.
    const idle = (await takesPasswords(zone)) ? ['passcode'] : ['passcode', 'username', 'password']
    return {
      app: { version },
      zone_name: zone.name,
      entityID: samlEntityIdOf(zone, samlEntityId),
      links: { login: base, uaa: base, ...(passwd && { passwd }), ...(signup && { register: signup }) },
      prompts: Object.fromEntries(
        promptsOf(zone)
          .filter(({ name }) => !idle.includes(name))
          .map(({ name, type, text }) => [name, [type, text] as const]),
      ),
      idpDefinitions: {},
      showLoginLinks: false,
      ...(zone.config.defaultIdentityProvider !== undefined && { defaultIdpName: zone.config.defaultIdentityProvider }),
    }
  }
}

/** `GET /info`. */
export function infoEndpoint(
  app: FastifyInstance,
  { serverInfo }: { serverInfo: (zone: Zone) => Promise<ServerInfo> },
): void {
  app.get(
    '/info',
    { config: { access: { by: 'anyone', because: 'it tells what the sign-in page shows' }, audience: 'open' } },
    async (request, reply) => reply.type('application/json').send(JSON.stringify(await serverInfo(request.zone))),
  )
}
