-- A payment is taken up and held in one step: nothing is `claimed` any more. Of what was, nothing had been sent.

update x402_payments set state = 'released', sealed_payment = null where state = 'claimed';
alter table x402_payments
  drop constraint x402_payments_check2,
  drop constraint x402_payments_state_check,
  add constraint x402_payments_check2 check ((state in ('settling', 'unknown')) = (sealed_payment is not null)),
  add constraint x402_payments_state_check check (state in ('settling', 'unknown', 'settled', 'released', 'failed'));
