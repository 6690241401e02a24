// Sends the answer on without a click (OAuth 2.0 Form Post Response Mode §2); without script the button does it.
document.getElementById('form_post').submit()
