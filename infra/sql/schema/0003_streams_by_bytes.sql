-- Tables are found by a range of stream names. In the order of some languages ("en_US") no name lies in it, and after a
-- restore no table would be found whose known seed is to be dropped.
alter table streams alter column stream type text collate "C";
