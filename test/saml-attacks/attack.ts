// The types of the collection: classes of attack, each with forged messages, which a server must refuse, and genuine ones,
// which it must accept, so that no server passes by refusing everything.
import type { KnownServiceProvider, SamlIdp } from '../support/saml/saml-idp.ts'
import type { ResponseParts } from '../support/saml/saml-parts.ts'
import type { SamlTestKey } from '../support/saml/saml-signing.ts'

/** `acs`: a response posted to the assertion consumer service; `bearer`: an assertion at the token endpoint (RFC 7522). */
export type Endpoint = 'acs' | 'bearer'

/** The attacker's own account at the provider, used in every genuine message. */
export const MALLORY = 'mallory'
/** The account used in forged messages. */
export const VICTIM = 'victim'

/** The means of an attacker: messages of the provider about their own account, and untrusted keys. */
export interface Means {
  readonly endpoint: Endpoint
  /** The trusted provider. Its key signs genuine messages, and what a careless provider would sign. */
  readonly idp: SamlIdp
  /** Another trusted provider with its own users. */
  readonly rival: SamlIdp
  /** A key of the attacker, with a certificate in the name of the provider. */
  readonly ownKey: SamlTestKey
  /** Common parts of genuine messages: subject and request. */
  readonly parts: ResponseParts
  /** The attacked server. */
  readonly to: KnownServiceProvider
  /** Its encryption certificate, required for encrypted messages. */
  readonly encryptTo?: string | undefined
  readonly now: Date
  /** A new id for each message; the same if a message is sent several times. */
  readonly unique: string
}

/** The XML, or its bytes if they are not valid UTF-8. */
export type Forged = string | Buffer

/** A message that must be accepted or refused. */
export interface SamlMessage {
  /** The special property of the message. */
  readonly name: string
  /** The only applicable endpoint; both by default. */
  readonly only?: Endpoint
  /** Needs `encryptTo`. */
  readonly isEncrypted?: true
  /** Depends on a request; others may also be sent without one. */
  readonly isAnswer?: true
  readonly forge: (means: Means) => Forged | Promise<Forged>
}

/** A message that must be refused. */
export interface SamlAttack extends SamlMessage {
  /** The publication, if it differs from the class. */
  readonly source?: string
  /** The accepted reasons in Latchkey's audit trail. */
  readonly reasons: readonly string[]
  /** The message may also be accepted if the user name is exactly this one. */
  readonly means?: string
  /** Sent twice: accepted once, then refused. */
  readonly isReplay?: true
}

/** A published class of attack. */
export interface AttackClass {
  readonly name: string
  /** CVE numbers, papers and sections of the standards. */
  readonly sources: readonly string[]
  /** Genuine messages that are similar to the attacks. */
  readonly controls: readonly SamlMessage[]
  readonly attacks: readonly SamlAttack[]
}
