// Changes of e-mail addresses by a login server.
import type { Area, Facts } from '../description.ts'
import { closed, described, json, open, sent, statusAlone, text, textOrNull } from '../description.ts'

/** `/email_verifications` and `/email_changes`. */
export function emailArea({ behaviour }: Facts): Area {
  return {
    name: 'E-mail addresses',
    about: 'For login servers, which send the mail themselves.',
    operations: {
      'POST /email_verifications': {
        summary: 'Create a code that changes an e-mail address',
        json: {
          schema: sent(
            open(
              {
                userId: described(text, 'An account of the internal provider.'),
                email: described(text, 'The new address.'),
                client_id: described(
                  textOrNull,
                  'The client whose `change_email_redirect_url` is returned when the code is used.',
                ),
              },
              ['userId', 'email'],
            ),
          ),
          example: { userId: 'a1b2', email: 'nadia@shop.example' },
        },
        answers: {
          201: behaviour.codeIsText
            ? { about: 'The code; good for 30 minutes.', content: { 'text/plain': text } }
            : {
                about: 'The code, without the quotes that its media type requires; good for 30 minutes.',
                content: { 'application/json': text },
              },
          400: 'A member is missing or malformed, or no mail can be sent to the address.',
          403: 'Self-service for internal accounts is disabled.',
          404: 'User not found.',
          409: statusAlone('The user signs in with the address, and another one has the new one as name.'),
        },
      },
      'POST /email_changes': {
        summary: 'Change an e-mail address with a code',
        about: 'The user name changes too if it was the address.',
        bare: { about: 'The code, without quotes.', example: 'JhH5OCoJOtp4yJwCE2N8kAeOHVn4x2UE' },
        answers: {
          200: json(
            'The account after the change.',
            closed({
              username: text,
              userId: text,
              redirect_url: described(textOrNull, 'The client’s URL to continue with.'),
              email: text,
            }),
          ),
          400: 'The code is missing.',
          403: 'Self-service for internal accounts is disabled.',
          409: statusAlone('Another user has taken the name meanwhile.'),
          422: statusAlone('The code is unknown, used or expired.'),
        },
      },
    },
  }
}
