// Changes of the list of subjects of other issuers whose JWTs authenticate a client.
import { isSameSubject } from '../../records/jwt-credential.ts'
import type { JwtCredential } from '../../records/jwt-credential.ts'

/** UAA: for both members stands for every entry when entries are removed. */
const ANY = '*'

/** The list with the entry, which replaces one with the same issuer and subject. */
export function withCredential(list: readonly JwtCredential[], entry: JwtCredential): readonly JwtCredential[] {
  const isThere = list.some(each => isSameSubject(each, entry))
  return isThere ? list.map(each => (isSameSubject(each, entry) ? entry : each)) : [...list, entry]
}

/** The list without the entry; without any for `*` as both issuer and subject. */
export const withoutCredential = (
  list: readonly JwtCredential[],
  gone: Pick<JwtCredential, 'iss' | 'sub'>,
): readonly JwtCredential[] =>
  gone.iss === ANY && gone.sub === ANY ? [] : list.filter(each => !isSameSubject(each, gone))
