// A Latchkey server that receives messages of the collection at its assertion consumer and token endpoint.
import type { CompatibilityMode } from '../../src/model/compatibility.ts'
import { createTestClock } from '../support/clock.ts'
import { createSamlIdp } from '../support/saml/saml-idp.ts'
import { samlTestKey } from '../support/saml/saml-signing.ts'
import { samlRecordOf } from '../support/saml/saml-idp-server.ts'
import { requestIn } from '../support/saml/saml-sign-in.ts'
import type { TestAnswer, TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import type { Endpoint, Means, SamlAttack, SamlMessage } from './attack.ts'
import type { Target } from './means.ts'
import { createMeans, encodedFor, ENTITY_IDS } from './means.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:saml2-bearer'
const BASE = 'http://localhost:8080'
const CLIENT = ['carrier', 'secret'] as const

/** Paths of the default zone. */
export const PATHS = { acs: '/saml/SSO/alias/latchkey', bearer: '/oauth/token/alias/latchkey' } as const

/** The result of a message. */
export interface Outcome {
  readonly answer: TestAnswer
  /** The name of the signed-in user; `somebody` if unknown. */
  readonly externalUser?: string | undefined
  /** Reasons in the audit trail. */
  readonly reasons: readonly (string | undefined)[]
  /** Other events; none after a refusal. */
  readonly others: readonly string[]
  readonly milliseconds: number
  readonly means: Means
}

/** A server that trusts both providers of the collection, and in the zone `z1` others with the same names. */
export interface SamlTarget {
  readonly server: TestServer
  at(endpoint: Endpoint): Target
  /**
   * Sends the message with the means, or with new ones. At the consumer it comes without having been asked for, or as the
   * answer to a request of a new browser if it is about that; both are read by the same code.
   */
  send(endpoint: Endpoint, message: SamlMessage | SamlAttack, given?: Means): Promise<Outcome>
  /** Sends an attack, which must be refused or sign in the expected user; returns the deviations. */
  complaints(endpoint: Endpoint, attack: SamlAttack): Promise<readonly string[]>
  stop(): Promise<void>
}

/** The time limit for a refused message of any size. Generous, because other tests run at the same time. */
const MAX_MILLISECONDS = 5000

const clock = createTestClock()
const keys = { idp: samlTestKey(), rival: samlTestKey() }
const idpOf = (name: 'idp' | 'rival', key = keys[name]) =>
  createSamlIdp({ clock, to: { entityId: 'latchkey', recipient: BASE }, key, entityId: ENTITY_IDS[name] })

/** In the zone `z1`, an administrator has registered providers of the same names with other keys. */
export const keyOfZone = samlTestKey()

const carrier = { client_id: CLIENT[0], client_secret: CLIENT[1], authorized_grant_types: [GRANT], scope: ['openid'] }
const bootstrap = {
  ...defaultBootstrap,
  clients: [...defaultBootstrap.clients, carrier],
  identity_providers: [
    samlRecordOf(idpOf('idp'), 'idp', { config: { allowIdpInitiated: true } }),
    samlRecordOf(idpOf('rival'), 'rival', { config: { allowIdpInitiated: true } }),
  ],
  identity_zones: [
    {
      id: 'z1',
      subdomain: 'z1',
      name: 'Zone 1',
      bootstrap: {
        clients: [carrier],
        identity_providers: [samlRecordOf(idpOf('idp', keyOfZone), 'idp', { config: { allowIdpInitiated: true } })],
      },
    },
  ],
}

const forgedBefore = { acs: new WeakMap<SamlMessage, string>(), bearer: new WeakMap<SamlMessage, string>() }

/** The certificate for encryption in the metadata, in PEM. */
function encryptionCertificateIn(metadata: string): string {
  const [, certificate = ''] = /use="encryption".*?X509Certificate>([^<]+)</s.exec(metadata) ?? []
  const lines = certificate.replace(/\s/g, '').replace(/.{64}(?=.)/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----`
}

/** Starts the server; the test stops it. */
export async function startSamlTarget(mode: CompatibilityMode): Promise<SamlTarget> {
  const server = await startServer({ mode, clock, config: { bootstrap } })
  const encryptTo = encryptionCertificateIn((await server.send('/saml/metadata')).text)
  const makers = { acs: createMeans(at('acs')), bearer: createMeans(at('bearer')) }

  function at(endpoint: Endpoint): Target {
    const to = { entityId: 'latchkey', recipient: BASE + PATHS[endpoint] }
    return { endpoint, to, clock, keys, encryptTo }
  }

  /** Generated once for the servers of both modes if the message is independent of the request. */
  async function forged(endpoint: Endpoint, message: SamlMessage | SamlAttack, means: Means): Promise<string> {
    const isShared = message.isAnswer !== true && !('isReplay' in message)
    const known = isShared ? forgedBefore[endpoint].get(message) : undefined
    const text = known ?? encodedFor(endpoint, await message.forge(means))
    if (isShared) forgedBefore[endpoint].set(message, text)
    return text
  }

  async function send(endpoint: Endpoint, message: SamlMessage | SamlAttack, given?: Means): Promise<Outcome> {
    const browser = server.browser()
    const request = message.isAnswer ? requestIn(await browser.send('/login/external/idp')) : undefined
    const means = given ?? makers[endpoint](request?.id ?? null)
    const text = await forged(endpoint, message, means)
    const seen = server.events.length
    const form: Record<string, string> =
      endpoint === 'acs' ? { SAMLResponse: text } : { grant_type: GRANT, assertion: text }
    if (request) form['RelayState'] = request.relayState
    const begun = performance.now()
    const answer =
      endpoint === 'acs'
        ? await browser.send(PATHS.acs, { form })
        : await server.send(PATHS.bearer, { form, basic: CLIENT })
    const milliseconds = performance.now() - begun
    const events = server.events.slice(seen)
    const success = events.find(({ type }) => type === 'UserAuthenticationSuccess')
    const user = success && (await server.store.users.find('svc', success.principal))
    const isIn =
      endpoint === 'bearer'
        ? answer.status === 200
        : Object.values(answer.cookies).some(value => value !== '') && (await browser.send('/profile')).status === 200
    return {
      answer,
      externalUser: user?.externalId ?? (isIn ? 'somebody' : undefined),
      reasons: events.flatMap(({ type, data }) => (type === 'IdentityProviderAuthenticationFailure' ? [data] : [])),
      others: events
        .map(({ type }) => type)
        .filter(type => type !== 'IdentityProviderAuthenticationFailure' && type !== 'ClientAuthenticationSuccess'),
      milliseconds,
      means,
    }
  }

  async function complaints(endpoint: Endpoint, attack: SamlAttack): Promise<readonly string[]> {
    const first = await send(endpoint, attack)
    if (attack.isReplay && first.externalUser === undefined) return [`${attack.name}: refused the first time`]
    const { answer, externalUser, reasons, others, milliseconds } = attack.isReplay
      ? await send(endpoint, attack, first.means)
      : first
    const found: string[] = []
    if (milliseconds > MAX_MILLISECONDS) found.push(`${attack.name}: took ${Math.round(milliseconds)} ms`)
    if (externalUser !== undefined) {
      if (externalUser !== attack.means) found.push(`${attack.name}: TAKEN for ${externalUser}`)
      return found
    }
    if (others.length > 0) found.push(`${attack.name}: ${others.join()}`)
    // An overlong or empty request contains no message.
    const isMessage = answer.status !== 413 && attack.reasons.length > 0
    const isTold = reasons.length === 1 && reasons.every((reason = '') => attack.reasons.includes(reason))
    if (isMessage && !isTold) found.push(`${attack.name}: the audit trail says ${reasons.join() || 'nothing'}`)
    return found
  }

  return { server, at, send, complaints, stop: () => server.stop() }
}
