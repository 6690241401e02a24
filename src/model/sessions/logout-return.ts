// The return of a browser from the logout at a provider. SAML's answers come to an endpoint of their own, which leads them on
// to the logout here.

/** The path of the logout, to which providers return. */
export const LOGOUT_PATH = '/logout.do'

/** Marks the return of a SAML answer, which ends nothing: any site can send one. */
export const ANSWERED = 'answered'

/** The id of a logout request (SAML Core §3.2.1), which its answer repeats; an xs:ID does not begin with a digit. */
export const logoutRequestId = (state: string): string => `_${state}`

/** Path and query to which the answer to the request leads; UAA: with what was to be given back. The id may be empty. */
export function answeredPath(requestId: string, given: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams({ ...given, state: requestId.slice(1), [ANSWERED]: 'true' })
  return `${LOGOUT_PATH}?${query.toString()}`
}
