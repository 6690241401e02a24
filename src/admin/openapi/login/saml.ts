// The URLs of sign-in at SAML providers.
import type { Fields, Operation } from '../description.ts'
import { may, must, page, redirect } from '../description.ts'

const started = redirect('To the provider, or back to the sign-in page.')
const leaving = page('A page that posts the request to the provider, if its binding requires it.')
const target: Fields = { form_redirect_uri: may('URL to continue with.'), username: may('User name to pass on.') }
const answer: Fields = {
  SAMLResponse: must('The response, in base64.'),
  RelayState: may(
    'That of the request; for a sign-in initiated by the provider, the URL of this server to continue with.',
  ),
}
const unread: Operation['answers'] = {
  302: redirect('To the page for a failed sign-in.'),
  400: 'There is no response.',
}
const consumed: Operation['answers'] = {
  200: page(
    'A page that posts the response again, so that the browser sends its cookies, or the choice of an account.',
  ),
  302: redirect('To the application, the home page or the page for a failed sign-in.'),
  400: 'The sign-in is unknown, expired or already used, or the response cannot be read.',
  403: 'The provider or the zone refused the sign-in.',
  404: 'Provider not found.',
  413: 'The response is too long.',
  502: 'The response could not be verified.',
}
const consumerAlias: Fields = {
  alias: must('The alias of the zone, which its metadata has, or the origin of the provider.'),
}

/** `/saml/discovery`, `/saml/login/alias`, `/saml2/authenticate` and `/saml/SSO`. */
export const samlOperations: Readonly<Record<string, Operation>> = {
  'GET /saml/discovery': {
    summary: 'Start a sign-in with a SAML provider',
    query: {
      entityID: may('The SAML entity id of the zone.'),
      idp: may('Origin of the provider.'),
      returnIDParam: may('Ignored.'),
      isPassive: may('Ignored.'),
      ...target,
    },
    answers: {
      200: leaving,
      302: redirect('To the start of the request, or back to the sign-in page.'),
      400: 'The entity id is that of another server.',
    },
  },
  'GET /saml/login/alias/:alias': {
    summary: 'Start a sign-in with the SAML provider of this entity id',
    path: { alias: must('The alias of the zone, which its metadata has.') },
    query: { disco: may('Ignored.'), idp: may('Entity id of the provider.'), ...target },
    answers: { 200: leaving, 302: started, 400: 'The alias or the entity id is unknown.' },
  },
  'GET /saml2/authenticate/:alias': {
    summary: 'Start a sign-in with a SAML provider by its origin',
    path: { alias: must('Origin of the provider.') },
    query: target,
    answers: { 200: leaving, 302: started },
  },
  'GET /saml/SSO': { summary: 'Refuse a SAML response that was not posted', answers: unread },
  'GET /saml/SSO/alias/:alias': {
    summary: 'Refuse a SAML response that was not posted',
    path: consumerAlias,
    answers: unread,
  },
  'POST /saml/SSO': { summary: 'Receive the response of a SAML provider', form: answer, answers: consumed },
  'POST /saml/SSO/alias/:alias': {
    summary: 'Receive the response of a SAML provider',
    path: consumerAlias,
    form: answer,
    answers: consumed,
  },
}
