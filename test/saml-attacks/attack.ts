// What the collection is made of: classes of attack, each with messages that a server must refuse and with genuine ones that
// it must take, so that no server passes by refusing everything.
import type { KnownServiceProvider, SamlIdp } from '../support/saml/saml-idp.ts'
import type { ResponseParts } from '../support/saml/saml-parts.ts'
import type { SamlTestKey } from '../support/saml/saml-signing.ts'

/** `acs`: a response posted to the assertion consumer service; `bearer`: an assertion at the token endpoint (RFC 7522). */
export type Endpoint = 'acs' | 'bearer'

/** The attacker's own account at the provider: every genuine message is about it. */
export const MALLORY = 'mallory'
/** The account that forged messages are about. */
export const VICTIM = 'victim'

/** What an attacker has: messages of the provider about an account of theirs, and keys that are not trusted. */
export interface Means {
  readonly endpoint: Endpoint
  /** The provider that the server trusts. Its key signs what the attacker was given, or what a careless provider would sign. */
  readonly idp: SamlIdp
  /** Another provider that the same server trusts, for users of its own. */
  readonly rival: SamlIdp
  /** A key of the attacker's, with a certificate that names the provider. */
  readonly ownKey: SamlTestKey
  /** What genuine messages have in common: whom they are about, and the request that they answer. */
  readonly parts: ResponseParts
  /** The server attacked. */
  readonly to: KnownServiceProvider
  /** Its certificate for encryption; without one, there are no attacks with encrypted messages. */
  readonly encryptTo?: string | undefined
  readonly now: Date
  /** An id that no message had before; the same as long as a message is sent several times. */
  readonly unique: string
}

/** XML to be sent, or its bytes where it is no proper UTF-8. */
export type Forged = string | Buffer

/** A message that must be taken or refused. */
export interface SamlMessage {
  /** What is special about it. */
  readonly name: string
  /** Where it can be sent; to both endpoints unless it says otherwise. */
  readonly only?: Endpoint
  /** Needs `encryptTo`. */
  readonly isEncrypted?: true
  /** Is about the request that it answers; others may also be sent without one. */
  readonly isAnswer?: true
  readonly forge: (means: Means) => Forged | Promise<Forged>
}

/** A message that must be refused. */
export interface SamlAttack extends SamlMessage {
  /** Where it was published, if not where the rest of its class was. */
  readonly source?: string
  /** One of these words of Latchkey's audit trail says why. */
  readonly reasons: readonly string[]
  /** Taken is right too, if the user is this one to the letter: the message means them. */
  readonly means?: string
  /** Is sent twice: taken once, then refused. */
  readonly isReplay?: true
}

/** A published class of attack. */
export interface AttackClass {
  readonly name: string
  /** CVE numbers, papers and sections of the standards. */
  readonly sources: readonly string[]
  /** Genuine messages that are like the attacks in everything but the attack. */
  readonly controls: readonly SamlMessage[]
  readonly attacks: readonly SamlAttack[]
}
