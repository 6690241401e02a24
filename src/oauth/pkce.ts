// Proof Key for Code Exchange (RFC 7636).
import { hash } from 'node:crypto'
import { sameSecret } from '../base/secrets.ts'

/** The code challenge methods, in the order of discovery (RFC 7636 §4.2). */
export const CODE_CHALLENGE_METHODS = ['S256', 'plain'] as const

/** One of `CODE_CHALLENGE_METHODS`. */
export type CodeChallengeMethod = (typeof CODE_CHALLENGE_METHODS)[number]

/** Whether a string is a method's name, which is case-sensitive. */
export const isCodeChallengeMethod = (text: string): text is CodeChallengeMethod =>
  CODE_CHALLENGE_METHODS.some(method => method === text)

/** Whether the verifier matches the challenge (RFC 7636 §4.6). */
export function verifierMatches(verifier: string, challenge: string, method: CodeChallengeMethod): boolean {
  switch (method) {
    case 'S256':
      return sameSecret(hash('sha256', verifier, 'base64url'), challenge)
    case 'plain':
      return sameSecret(verifier, challenge)
  }
}
