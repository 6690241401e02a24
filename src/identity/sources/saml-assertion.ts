// Assertions of SAML providers that clients present (RFC 7522). The checks are those of web sign-in, but for what a browser
// brings along: nothing was requested, and the recipient is the token endpoint. Loaded with the first SAML message.
import type { IdentityProvider } from '../../model/zones/identity-provider.ts'
import { readBearerAssertion } from '../saml/assertion.ts'
import { SamlProblem } from '../saml/problem.ts'
import type { SamlReason } from '../saml/problem.ts'
import type { SamlSignIn } from '../saml/sign-in.ts'
import { decodeXml, parseXml } from '../saml/xml.ts'
import type { AssertionReader, ExternalRefusal, Presentation, RedirectRefusal } from '../source.ts'

/** Verifies an assertion of the provider and reads its subject. */
export async function readAssertion(
  record: IdentityProvider,
  { assertion, presentation }: { readonly assertion: string; readonly presentation: Presentation },
  { admit }: Pick<SamlSignIn, 'admit'>,
): ReturnType<AssertionReader['read']> {
  const admitted = await admit(record, presentation, demand => readBearerAssertion(assertion, demand))
  return admitted.outcome === 'genuine' ? admitted : refusalOf(admitted)
}

/** Why an assertion cannot be read as far as its issuer. An encrypted one hides its issuer: only its reader could find it. */
export function problemIn(assertion: string): SamlReason {
  try {
    return parseXml(decodeXml(assertion)).name === 'EncryptedAssertion' ? 'decryption' : 'issuer'
  } catch (error) {
    if (error instanceof SamlProblem) return error.reason
    throw error
  }
}

const UNREADABLE: readonly (string | undefined)[] = [
  'too-large',
  'not-xml',
  'document-type',
] satisfies readonly SamlReason[]

/** UAA's descriptions: they distinguish unreadable from invalid, and nothing else. */
function refusalOf(refusal: RedirectRefusal): ExternalRefusal {
  if (refusal.outcome === 'declined') return untrusted('Error validating SAML message')
  if (refusal.outcome === 'unavailable') {
    return { ...untrusted('Error determining metadata contracts'), detail: refusal.detail, audit: 'metadata' }
  }
  if (refusal.reason !== 'untrusted') return refusal
  const isUnreadable = UNREADABLE.includes(refusal.audit)
  return {
    ...refusal,
    description: isUnreadable ? 'Error decoding incoming SAML message' : 'Error validating SAML message',
  }
}

const untrusted = (description: string): ExternalRefusal => ({ outcome: 'refused', reason: 'untrusted', description })
