// The parts of SAML messages that a test can change; each has a default.
import type { EncryptionAlgorithm, KeyEncryptionAlgorithm } from 'xml-encryption'
import type { SamlTestKey } from './saml-signing.ts'
import type { SAML } from './saml-xml.ts'

/** An attribute of a user; several values give several `AttributeValue` elements. */
export interface SamlTestAttribute {
  readonly name: string
  readonly friendlyName?: string
  readonly values: readonly string[]
}

/** The content of an assertion; missing members have defaults, and `null` omits the element or attribute. */
export interface AssertionParts {
  readonly id?: string
  readonly issuer?: string
  readonly issueInstant?: Date
  readonly nameId?: string | null
  readonly format?: string | null
  readonly nameQualifier?: string
  readonly spNameQualifier?: string
  readonly method?: string
  /** Of the subject confirmation. */
  readonly recipient?: string | null
  readonly inResponseTo?: string | null
  readonly notOnOrAfter?: Date | null
  readonly confirmationNotBefore?: Date
  /** Of the conditions; `null`: none at all. */
  readonly conditions?: { readonly notBefore?: Date | null; readonly notOnOrAfter?: Date | null } | null
  /** One `AudienceRestriction` with all of them. */
  readonly audiences?: readonly string[] | null
  /** Further elements within the conditions. */
  readonly moreConditions?: string
  /** `null`: no authentication statement. */
  readonly authnInstant?: Date | null
  readonly authnContext?: string
  readonly sessionIndex?: string | null
  readonly sessionNotOnOrAfter?: Date
  readonly attributes?: readonly SamlTestAttribute[]
}

/** Options of a signature; by default the provider's key, RSA with SHA-256 and exclusive canonicalization. */
export interface SigningParts {
  readonly key?: SamlTestKey
  readonly algorithm?: string
  readonly digest?: string
  readonly canonicalization?: string
  readonly transforms?: readonly string[]
  /** `PrefixList` of the exclusive canonicalization, as OpenSAML has it. */
  readonly inclusivePrefixes?: readonly string[]
}

/** How an assertion is encrypted, to the service provider's certificate in PEM. */
export interface EncryptionParts {
  readonly certificate: string
  readonly algorithm?: EncryptionAlgorithm
  readonly keyAlgorithm?: KeyEncryptionAlgorithm | typeof SAML.oaep11
  /** The hash of OAEP, and that of its mask, which only the newer algorithm names. */
  readonly digest?: string
  readonly mask?: string
}

/** A response around one assertion. */
export interface ResponseParts extends AssertionParts {
  readonly responseId?: string
  readonly destination?: string | null
  readonly responseIssuer?: string | null
  readonly responseInResponseTo?: string | null
  readonly status?: string
  /** The code within that code, and the message beside it. */
  readonly statusWithin?: string
  readonly statusMessage?: string
  /** The signed elements; by default the assertion. */
  readonly signs?: readonly ('assertion' | 'response')[]
  readonly signing?: SigningParts
  readonly encrypts?: EncryptionParts
}

/** A logout message. */
export interface LogoutParts {
  readonly id?: string
  readonly issuer?: string
  readonly issueInstant?: Date
  readonly destination?: string | null
  readonly notOnOrAfter?: Date | null
  readonly nameId?: string
  readonly format?: string | null
  readonly nameQualifier?: string
  readonly spNameQualifier?: string
  readonly sessionIndexes?: readonly string[]
  readonly inResponseTo?: string
  readonly status?: string
}
