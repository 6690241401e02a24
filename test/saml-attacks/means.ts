import type { Clock } from '../../src/base/clock.ts'
import type { KnownServiceProvider } from '../support/saml/saml-idp.ts'
import type { SamlTestKey } from '../support/saml/saml-signing.ts'
import { createSamlIdp } from '../support/saml/saml-idp.ts'
import { nextId } from '../support/saml/saml-xml.ts'
import { samlTestKey } from '../support/saml/saml-signing.ts'
import type { Endpoint, Forged, Means, SamlMessage } from './attack.ts'
import { MALLORY } from './attack.ts'
import { CLASSES } from './classes.ts'

/** The attacked server. */
export interface Target {
  readonly endpoint: Endpoint
  readonly to: KnownServiceProvider
  readonly clock: Clock
  /** Keys of the two trusted providers. */
  readonly keys: { readonly idp: SamlTestKey; readonly rival: SamlTestKey }
  readonly entityIds?: { readonly idp: string; readonly rival: string }
  readonly encryptTo?: string | undefined
}

/** Entity ids of the two providers. */
export const ENTITY_IDS = { idp: 'https://idp.example/saml', rival: 'https://rival.example/saml' } as const

const ownKey = samlTestKey()

/** Creates the means of an attacker; `inResponseTo` is the pending request of the server. */
export function createMeans({ endpoint, to, clock, keys, entityIds = ENTITY_IDS, encryptTo }: Target) {
  const idp = createSamlIdp({ clock, to, key: keys.idp, entityId: entityIds.idp })
  const rival = createSamlIdp({ clock, to, key: keys.rival, entityId: entityIds.rival })
  return (inResponseTo: string | null = null): Means => ({
    endpoint,
    idp,
    rival,
    ownKey,
    parts: { nameId: MALLORY, inResponseTo },
    to,
    encryptTo,
    now: clock.now(),
    unique: nextId(),
  })
}

/** The text of the form field: base64 at the consumer, base64url in the grant. */
export const encodedFor = (endpoint: Endpoint, message: Forged): string =>
  Buffer.from(message).toString(endpoint === 'acs' ? 'base64' : 'base64url')

/** Whether the message can be sent to the endpoint. */
export const fits = (
  { only, isEncrypted }: SamlMessage,
  { endpoint, encryptTo }: Pick<Target, 'endpoint' | 'encryptTo'>,
): boolean => (only ?? endpoint) === endpoint && (isEncrypted !== true || encryptTo !== undefined)

/** The applicable messages of the classes. */
export const classesFor = (target: Pick<Target, 'endpoint' | 'encryptTo'>) =>
  CLASSES.map(each => ({
    ...each,
    controls: each.controls.filter(message => fits(message, target)),
    attacks: each.attacks.filter(message => fits(message, target)),
  })).filter(({ attacks }) => attacks.length > 0)
